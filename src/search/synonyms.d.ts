declare module "*.txt" {
  const path: string;
  export default path;
}
