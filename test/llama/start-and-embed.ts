// Child process of tests: embeds with the model host of a folder. Arguments: folder, model, number of texts.
import { modelHost } from "../../src/llama/client.ts";

const [folder = "", model = "", count = "1"] = process.argv.slice(2);
const host = modelHost({ modelsFolder: folder });
console.log(JSON.stringify(await host.info()));
await host.embed(
  model,
  Array.from({ length: Number(count) }, (_, index) => `note ${index} about the release`),
  { bulk: true },
);
console.log("done");
