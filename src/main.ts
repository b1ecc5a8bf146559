#!/usr/bin/env bun
process.stderr.write("memq: nothing here yet\n");
process.exitCode = 1;
