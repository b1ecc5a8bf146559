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

/** Whether the token at an offset of a passage's tokens, behind a first blank, is told of somebody whom the query names. */
export type Tells = (start: number) => boolean;

let pronouns: { first: ReadonlySet<string>; second: ReadonlySet<string> } | undefined;

/**
 * Makes a function that knows, for the tokens of a passage, what a conversation in it tells of somebody whom
 * the terms of a query name; null where none of them speaks there. `I` in a turn of hers and `you` in another's turn is she, and words
 * close to it are about her. Her name is no help there: it stands before every turn of hers, and in those of others.
 */
export function turnReader(terms: readonly string[]): (body: string) => Tells | null {
  const asked = new Set(terms);
  return (body) => {
    if (!body.includes(MARK)) return null;
    const tokens = ` ${body} `;
    const named = new Set(speakersIn(tokens).filter((speaker) => asked.has(speaker)));
    if (named.size === 0) return null;
    pronouns ??= { first: new Set(indexTokens(FIRST_PERSON)), second: new Set(indexTokens(SECOND_PERSON)) };
    const { first, second } = pronouns;
    return (start) => {
      const mark = tokens.lastIndexOf(`${MARK} `, start);
      if (mark < 0 || isTokenOf(tokens, start, named)) return false;
      const speaker = tokens.slice(tokens.lastIndexOf(" ", mark) + 1, mark);
      const wanted = named.has(speaker) ? first : second;
      return standsBefore(tokens, start, mark, wanted) || standsBehind(tokens, start, wanted);
    };
  };
}

/** Whose turns the marks of a passage are. */
function speakersIn(tokens: string): string[] {
  const speakers: string[] = [];
  for (let at = tokens.indexOf(`${MARK} `); at >= 0; at = tokens.indexOf(`${MARK} `, at + 1))
    speakers.push(tokens.slice(tokens.lastIndexOf(" ", at) + 1, at));
  return speakers;
}

function isTokenOf(tokens: string, start: number, named: ReadonlySet<string>): boolean {
  return named.has(tokens.slice(start, tokens.indexOf(" ", start)));
}

/** Whether one of the wanted tokens stands within reach before an offset and behind the mark. */
function standsBefore(tokens: string, start: number, mark: number, wanted: ReadonlySet<string>): boolean {
  let end = start - 1;
  for (let step = 0; step < REACH && end > mark + 1; step++) {
    const from = tokens.lastIndexOf(" ", end - 1) + 1;
    if (wanted.has(tokens.slice(from, end))) return true;
    end = from - 1;
  }
  return false;
}

/** Whether one of the wanted tokens stands within reach behind the token at an offset and before the next mark. */
function standsBehind(tokens: string, start: number, wanted: ReadonlySet<string>): boolean {
  let from = tokens.indexOf(" ", start) + 1;
  for (let step = 0; step < REACH && from < tokens.length; step++) {
    const end = tokens.indexOf(" ", from);
    const token = tokens.slice(from, end);
    if (token.endsWith(MARK)) return false;
    if (wanted.has(token)) return true;
    from = end + 1;
  }
  return false;
}
