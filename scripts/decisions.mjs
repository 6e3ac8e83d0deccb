/** The list of decision pages: docs/decisions/README.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../docs/decisions/', import.meta.url));

/**
 * @returns {string} the list as Markdown, sorted by page number
 * @throws Error for a page without a title that begins with its number
 */
export function decisionsPage() {
  const rows = readdirSync(FOLDER)
    .filter((name) => /^\d{4}-/.test(name))
    .sort()
    .map((name) => {
      const number = name.slice(0, 4);
      const title = new RegExp(`^# ${number}\\W+(.+)$`, 'm').exec(readFileSync(FOLDER + name, 'utf8'))?.[1];
      if (title === undefined)
        throw new Error(`docs/decisions/${name} must begin with "# ${number}. A title"`);
      return `| [${number}](${name}) | ${title} |`;
    });
  return `# Decisions

Each decision has one page in one form: context, decision, reasons, what was tried and dropped, the last figures, consequences.
\`npm run docs\` writes this list.

| page | decision |
|---|---|
${rows.join('\n')}
`;
}
