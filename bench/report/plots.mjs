/** The plots of one run. */
import { COST, latencyPlot, peerPlot, THROUGHPUT } from './peer-plots.mjs';
import { ratioPlot, sizePlot } from './ratio-plots.mjs';

/**
 * @param {object} results
 * @returns {{ file: string, title: string, svg: string }[]}
 */
export function plotsOf(results) {
  return [
    { file: 'ratio.svg', title: 'Ratio to the floor of each workload', svg: ratioPlot(results) },
    { file: 'peers.svg', title: 'Processor time per request against others', svg: peerPlot(results, COST) },
    {
      file: 'throughput.svg',
      title: 'Requests per second against others',
      svg: peerPlot(results, THROUGHPUT),
    },
    { file: 'sizes.svg', title: 'Cost against the number of events', svg: sizePlot(results) },
    { file: 'latency.svg', title: 'Distribution of latencies', svg: latencyPlot(results) },
  ];
}
