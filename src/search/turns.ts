import { indexTokens, indexTokenString } from "./tokens.ts";

/** A line that begins with who says it: `Ann: …`, `- **Ann Lee:** …`. */
const SPEAKER = /^(?:[-*+]\s+)?(?:\*\*|__)?(\p{Lu}[\p{L}\p{M}\p{N}_.' -]{0,30}?)(?:\*\*|__)?[:：](?:\*\*|__)?(?=\s)/gmu;

/** Ends the token that stands before a turn and says whose it is; no other token ends like that. */
const MARK = ":";

/** Who speaks, and who is spoken to, by language. */
const FIRST_PERSON =
  "i i'm i've i'd i'll me my mine myself we we've us our ours ourselves ich mich mir mein meine meinen meiner meinem wir uns unser unsere " +
  "je j'ai moi mon ma mes nous notre nos yo mi mis mío mía nosotros nuestro nuestra eu meu minha meus minhas nós nosso nossa " +
  "io mio mia miei noi nostro nostra ik mij mijn wij ons onze я меня мне мой моя мы нас нам наш";
const SECOND_PERSON =
  "you you're you've you'd you'll your yours yourself du dich dir dein deine ihr euch euer tu te toi ton ta tes vous votre vos " +
  "tú ti tus usted ustedes você seu sua tuo tua voi vostro jij jou jouw ты тебя тебе твой вы вас вам ваш";

/** So many tokens from a pronoun a word still tells of the same person. */
const REACH = 8;

/**
 * The tokens a passage is indexed as, joined by blanks: those of its text, and in a conversation (someone speaks twice) a mark before
 * each turn. Whose turn it is could not be told from the tokens otherwise, where every line names somebody.
 */
export function passageTokenString(text: string): string {
  const turns = text.includes(":") || text.includes("：") ? [...text.matchAll(SPEAKER)] : [];
  if (turns.length < 2 || new Set(turns.map((turn) => turn[1])).size === turns.length) return indexTokenString(text);
  const parts = [indexTokenString(text.slice(0, turns[0]!.index))];
  for (const [place, turn] of turns.entries()) {
    const [speaker] = indexTokens(turn[1]!);
    if (speaker !== undefined) parts.push(speaker + MARK);
    parts.push(indexTokenString(text.slice(turn.index, turns[place + 1]?.index)));
  }
  return parts.filter((part) => part !== "").join(" ");
}

/** Adds to `counts` how often each term is told of a person the query names. */
export type ToldCounter = (body: string, counts: Float64Array) => void;

let pronouns: { first: ReadonlySet<string>; second: ReadonlySet<string> } | undefined;

/**
 * Counts the terms that a conversation tells of somebody whom the query names: `I` in a turn of hers and `you` in another's turn is she,
 * and words close to it are about her. Her name is no help there: it stands before every turn of hers, and in those of others.
 */
export function toldCounter(terms: readonly string[]): ToldCounter {
  const places = new Map(terms.map((term, place) => [term, place]));
  return (body, counts) => {
    if (!body.includes(MARK)) return;
    const text = ` ${body} `;
    const named = new Set(terms.filter((term) => text.includes(` ${term}${MARK} `)));
    if (named.size === 0) return;
    pronouns ??= { first: new Set(indexTokens(FIRST_PERSON)), second: new Set(indexTokens(SECOND_PERSON)) };
    let mine: ReadonlySet<string> | null = null;
    let last = -Infinity;
    let waiting: { place: number; at: number }[] = [];
    for (const [at, token] of body.split(" ").entries()) {
      if (token.endsWith(MARK)) {
        mine = named.has(token.slice(0, -MARK.length)) ? pronouns.first : pronouns.second;
        last = -Infinity;
        waiting = [];
      } else if (mine?.has(token)) {
        for (const before of waiting) if (at - before.at <= REACH) counts[before.place]!++;
        last = at;
        waiting = [];
      } else {
        const place = places.get(token);
        if (place === undefined || named.has(token)) continue;
        if (at - last <= REACH) counts[place]!++;
        else waiting.push({ place, at });
      }
    }
  };
}
