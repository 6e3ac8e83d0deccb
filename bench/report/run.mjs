/**
 * Writes what is published of the newest results: the plots beside them, and tables between the markers in README.md.
 *
 *     npm run bench:report
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { plotsOf } from './plots.mjs';
import { readResults } from './results.mjs';
import { reportOf, withReport } from './table.mjs';
import { readWorkers, workersReportOf } from './workers.mjs';

const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const all = readResults(at('bench/results'));
const plots = plotsOf(all[0]);
const readme = readFileSync(at('README.md'), 'utf8');
const withBench = withReport(readme, reportOf(all, plots));
const workers = workersReportOf(readWorkers(at('bench/results')));
writeFileSync(at('README.md'), withReport(withBench, workers, 'workers'));
for (const { file, svg } of plots) writeFileSync(at(`bench/results/${file}`), svg);
process.stdout.write(`README.md and ${plots.map(({ file }) => file).join(', ')} are written\n`);
