// Made by scripts/synonyms.ts: a search reads only the tables that its words begin with.
import a from "./synonyms/a.txt" with { type: "file" };
import b from "./synonyms/b.txt" with { type: "file" };
import c from "./synonyms/c.txt" with { type: "file" };
import d from "./synonyms/d.txt" with { type: "file" };
import e from "./synonyms/e.txt" with { type: "file" };
import f from "./synonyms/f.txt" with { type: "file" };
import g from "./synonyms/g.txt" with { type: "file" };
import h from "./synonyms/h.txt" with { type: "file" };
import i from "./synonyms/i.txt" with { type: "file" };
import j from "./synonyms/j.txt" with { type: "file" };
import k from "./synonyms/k.txt" with { type: "file" };
import l from "./synonyms/l.txt" with { type: "file" };
import m from "./synonyms/m.txt" with { type: "file" };
import n from "./synonyms/n.txt" with { type: "file" };
import o from "./synonyms/o.txt" with { type: "file" };
import p from "./synonyms/p.txt" with { type: "file" };
import q from "./synonyms/q.txt" with { type: "file" };
import r from "./synonyms/r.txt" with { type: "file" };
import s from "./synonyms/s.txt" with { type: "file" };
import t from "./synonyms/t.txt" with { type: "file" };
import u from "./synonyms/u.txt" with { type: "file" };
import v from "./synonyms/v.txt" with { type: "file" };
import w from "./synonyms/w.txt" with { type: "file" };
import x from "./synonyms/x.txt" with { type: "file" };
import y from "./synonyms/y.txt" with { type: "file" };
import z from "./synonyms/z.txt" with { type: "file" };
import licence from "./synonyms/licence.txt" with { type: "file" };

/** Paths of the tables of synonyms by first letter; the licence goes wherever they go. */
export const SYNONYM_TABLES: Readonly<Record<string, string>> = {
  licence,
  a,
  b,
  c,
  d,
  e,
  f,
  g,
  h,
  i,
  j,
  k,
  l,
  m,
  n,
  o,
  p,
  q,
  r,
  s,
  t,
  u,
  v,
  w,
  x,
  y,
  z,
};
