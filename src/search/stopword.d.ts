declare module "stopword/src/stopwords_ara.js" {
  export const ara: string[];
}
declare module "stopword/src/stopwords_deu.js" {
  export const deu: string[];
}
declare module "stopword/src/stopwords_eng.js" {
  export const eng: string[];
}
declare module "stopword/src/stopwords_fra.js" {
  export const fra: string[];
}
declare module "stopword/src/stopwords_hin.js" {
  export const hin: string[];
}
declare module "stopword/src/stopwords_ita.js" {
  export const ita: string[];
}
declare module "stopword/src/stopwords_jpn.js" {
  export const jpn: string[];
}
declare module "stopword/src/stopwords_kor.js" {
  export const kor: string[];
}
declare module "stopword/src/stopwords_nld.js" {
  export const nld: string[];
}
declare module "stopword/src/stopwords_por.js" {
  export const por: string[];
}
declare module "stopword/src/stopwords_rus.js" {
  export const rus: string[];
}
declare module "stopword/src/stopwords_spa.js" {
  export const spa: string[];
}
declare module "stopword/src/stopwords_tha.js" {
  export const tha: string[];
}
declare module "stopword/src/stopwords_zho.js" {
  export const zho: string[];
}
