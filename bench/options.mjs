import { parseArgs } from 'node:util';

/**
 * Reads a command line. Prints the help and ends if requested, or if an option is unknown.
 *
 * @template {import('node:util').ParseArgsConfig['options']} Options
 * @param {string} help the full text
 * @param {Options} options as of util.parseArgs
 */
export function readOptions(help, options) {
  const all = { ...options, help: { type: 'boolean', short: 'h', default: false } };
  let values;
  try {
    ({ values } = parseArgs({ options: all }));
  } catch (error) {
    process.stderr.write(`${error.message.split('. ')[0]}.\n\n${help}`);
    process.exit(2);
  }
  if (values.help) {
    process.stdout.write(help);
    process.exit(0);
  }
  return values;
}
