declare module "opencc-js/dict/TSCharacters" {
  /** Traditional and simplified characters, as OpenCC tells them: `萬 万|與 与|…`. */
  const pairs: string;
  export default pairs;
}
