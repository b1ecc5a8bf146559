// Reads a JUnit report and prints the closing line `N passed, N failed, N skipped`; fails when anything failed.
// usage: count-tests.ts REPORT FAILED_CHECKS RUNNER_FAILED(yes|no)
import { readFileSync } from "node:fs";

const [reportPath = "", failedChecks = "0", runnerFailed = "no"] = process.argv.slice(2);
const report = readFileSync(reportPath, "utf8");
const header = /<testsuites\b[^>]*>/.exec(report)?.[0] ?? "";
const count = (name: string): number => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(header)?.[1] ?? 0);

const skipped = count("skipped");
const testFailures = count("failures") + count("errors");
// A runner that fails without a failed test (a file that does not load, a crash) is a failure all the same.
const hidden = runnerFailed === "yes" && testFailures === 0 ? 1 : 0;
const failed = testFailures + hidden + Number(failedChecks);
const passed = Math.max(0, count("tests") - testFailures - skipped);
process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
process.exit(failed > 0 || passed === 0 ? 1 : 0);
