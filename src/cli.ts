#!/usr/bin/env node
import { endWithoutOutput, guardOutput } from './cli/faults.js';
import { run } from './cli/program.js';

guardOutput();
const exitCode = await run(process.argv.slice(2));
// Failed output has already set an exit code.
process.exitCode ??= exitCode;
endWithoutOutput();
