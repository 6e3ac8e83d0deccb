/**
 * Publishes the newest results: the plots beside them, the tables in docs/benchmarks.md, the headline in README.md.
 *
 *     npm run bench:report
 *     npm run bench:report -- <file>…
 *
 * With files, as `npm run bench -- --json <file>` writes them, only prints the table of their versions of Node.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { formatsReportOf, readFormats } from './formats.mjs';
import { plotsOf } from './plots.mjs';
import { lacking, publishedFiles, readResults } from './results.mjs';
import { headlineOf, reportOf, versionsOf, withReport } from './table.mjs';
import { readWorkers, workersReportOf } from './workers.mjs';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const rewrite = (path, change) => writeFileSync(at(path), change(readFileSync(at(path), 'utf8')));

function publish() {
  const all = readResults(publishedFiles(at('bench/results')));
  const plots = plotsOf(all[0]);
  const workers = workersReportOf(readWorkers(at('bench/results')));
  const formats = formatsReportOf(readFormats(at('bench/results')));
  rewrite('docs/benchmarks.md', (page) =>
    withReport(withReport(withReport(page, reportOf(all, plots)), formats, 'formats'), workers, 'workers'),
  );
  rewrite('README.md', (page) => withReport(page, headlineOf(all[0], plots), 'headline'));
  for (const { file, svg } of plots) writeFileSync(at(`bench/results/${file}`), svg);
  const written = `docs/benchmarks.md, README.md and ${plots.map(({ file }) => file).join(', ')} are written`;
  return [...lacking(all[0]), written].join('\n');
}

const files = process.argv.slice(2);
process.stdout.write(`${files.length === 0 ? publish() : versionsOf(readResults(files))}\n`);
