#!/usr/bin/env node
import { endWithoutOutput, guardOutput } from './cli/faults.js';
import { run } from './cli/program.js';

guardOutput();
const exitCode = await run(process.argv.slice(2));
// What was printed may have failed, and then the exit code says so.
process.exitCode ??= exitCode;
endWithoutOutput();
