#!/usr/bin/env node
import { endWithoutOutput, guardOutput, reportFailure } from './cli/faults.js';

guardOutput();
// Loading the modules may fail, too: many files are open at once.
const exitCode = await import('./cli/program.js')
  .then(({ run }) => run(process.argv.slice(2)))
  .catch(reportFailure);
// The exit code was set when output failed.
process.exitCode ??= exitCode;
endWithoutOutput();
