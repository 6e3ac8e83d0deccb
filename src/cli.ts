#!/usr/bin/env node
import { endWithoutOutput, guardOutput } from './cli/faults.js';
import { run } from './cli/program.js';

guardOutput();
const exitCode = await run(process.argv.slice(2));
// The exit code was set when output failed.
process.exitCode ??= exitCode;
endWithoutOutput();
