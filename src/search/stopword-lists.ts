import { ara } from "stopword/src/stopwords_ara.js";
import { deu } from "stopword/src/stopwords_deu.js";
import { eng } from "stopword/src/stopwords_eng.js";
import { fra } from "stopword/src/stopwords_fra.js";
import { hin } from "stopword/src/stopwords_hin.js";
import { ita } from "stopword/src/stopwords_ita.js";
import { jpn } from "stopword/src/stopwords_jpn.js";
import { kor } from "stopword/src/stopwords_kor.js";
import { nld } from "stopword/src/stopwords_nld.js";
import { por } from "stopword/src/stopwords_por.js";
import { rus } from "stopword/src/stopwords_rus.js";
import { spa } from "stopword/src/stopwords_spa.js";
import { tha } from "stopword/src/stopwords_tha.js";
import { zho } from "stopword/src/stopwords_zho.js";
import { analyse } from "./tokens.ts";

export type Language = keyof typeof LISTS;

const LISTS = { eng, spa, por, fra, deu, ita, nld, rus, ara, hin, zho, jpn, kor, tha };

/** Words that ask, which lists made for other ends leave out: a note that answers does not repeat them. */
const ASKING: Partial<Record<Language, string>> = {
  eng:
    "she hers herself himself itself themselves myself yourself yours ours theirs mine being until above below off again further " +
    "once few own very just them her his when why whose whom whether does doing done having don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't " +
    "wouldn't shouldn't hasn't haven't hadn't it's i'm i've i'll i'd you're you've you'll we're we've we'll they're they've that's " +
    "what's who's where's how's let's there's tell show shall may us am no not nor yes so please",
  spa: "qué cuál cuáles quién quiénes cómo cuándo cuánto cuánta cuántos cuántas dónde por qué es son fue ser está están estaba ha han había hay e u",
  por: "qual quais quem como quando quanto quanta quantos quantas onde por que é são foi ser está estão estava há um uma o os a as",
  fra: "quel quelle quels quelles qui que quoi comment quand combien où pourquoi est-ce quelqu'un c'est qu'est d'un d'une l' y a été",
  deu: "wer was wann wo wie warum wieso weshalb welche welcher welches welchen welchem wen wem wessen wieviel wie viele",
  ita: "quale quali chi che cosa come quando quanto quanta quanti quante dove perché è sono fu",
  nld: "wie wat wanneer waar waarom hoe welke welk hoeveel",
  rus: "кто что когда где почему зачем как какой какая какое какие какого сколько чей куда откуда",
  ara: "من ما ماذا متى أين كيف كم لماذا هل أي ما هو ما هي",
  hin: "क्या कौन कब कहाँ कहां क्यों कैसे कितना कितने कितनी किस किसने किसका किसकी कौनसा थे था थी हैं",
  zho: "什么 谁 何时 何地 哪里 哪儿 哪个 哪些 哪 多少 几 怎么 怎样 如何 为什么 为何 吗 呢",
  jpn: "何 誰 いつ どこ なぜ どう どの どのように どれ いくつ どんな 何人 何年 ですか ますか",
  kor: "무엇 누구 언제 어디 왜 어떻게 어떤 몇 얼마나 무슨 어느",
  tha: "อะไร ใคร เมื่อไร เมื่อไหร่ ที่ไหน ทำไม อย่างไร เท่าไร เท่าไหร่ กี่ ไหน ใด",
};

/**
 * Stop words per language, in the form that words have as `surface` of a token, joined by blanks. Made when the program is built:
 * tokenising the lists takes longer than a whole search.
 */
export function stopWordSurfaces(): Record<Language, string> {
  const languages = Object.keys(LISTS) as Language[];
  return Object.fromEntries(languages.map((language) => [language, surfaces(language)])) as Record<Language, string>;
}

function surfaces(language: Language): string {
  const list = [...LISTS[language], ...(ASKING[language] ?? "").split(" ")];
  return [...new Set(list.flatMap(surfacesOf))].join(" ");
}

/** An entry of one word counts by its pieces (`we've`); in unspaced scripts only an entry of one or two characters does. */
function surfacesOf(entry: string): string[] {
  const tokens = analyse(entry).filter((token) => token.kind !== "whole");
  const unspaced = tokens.some((token) => token.kind !== "word");
  if (!unspaced) return entry.includes(" ") ? [] : tokens.map((token) => token.surface);
  return tokens[0] !== undefined && tokens.filter(({ kind }) => kind === "pair").length < 2 ? [tokens[0].surface] : [];
}
