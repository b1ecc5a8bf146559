import type { SearchProfile } from "../../src/home/types.ts";

/** Profiles that are compared: an agent's defaults with vectors and without, and with single stages changed. */
export const STAGES: Record<string, (profile: SearchProfile) => SearchProfile> = {
  /** Nothing but the keyword leg: no names, recency, importance or diversity. */
  leg: (profile) => bare(profile),
  /** The defaults, without vectors. */
  keyword: (profile) => profile,
  "no-names": (profile) => ({ ...profile, names: false }),
  "no-recency": (profile) => ({ ...profile, recency: { ...profile.recency, mode: "off" } }),
  "no-importance": (profile) => ({ ...profile, importance: false }),
  "no-mmr": (profile) => ({ ...profile, mmr: { ...profile.mmr, enabled: false } }),
  "documented-recency": (profile) => ({ ...profile, recency: { ...profile.recency, mode: "documented", floor: 0 } }),
  /** The defaults, with vectors. */
  hybrid: (profile) => ({ ...profile, hybrid: true }),
  "hybrid-leg": (profile) => ({ ...bare(profile), hybrid: true }),
  "hybrid-no-mmr": (profile) => ({ ...profile, hybrid: true, mmr: { ...profile.mmr, enabled: false } }),
  "hybrid-no-recency": (profile) => ({ ...profile, hybrid: true, recency: { ...profile.recency, mode: "off" } }),
  "hybrid-weighted": (profile) => ({
    ...profile,
    hybrid: true,
    fusion: "weighted",
    vectorWeight: 0.7,
    textWeight: 0.3,
  }),
};

function bare(profile: SearchProfile): SearchProfile {
  return {
    ...profile,
    names: false,
    importance: false,
    recency: { ...profile.recency, mode: "off" },
    mmr: { ...profile.mmr, enabled: false },
  };
}

/** Whether a stage can be measured only with an embedding provider. */
export function needsVectors(stage: string): boolean {
  return stage.startsWith("hybrid");
}
