/** The servers of the plots: all plots have the same order, names, colours and shapes. */
import { PEERS } from '../peers/peers.mjs';

const LOOKS = [
  { shape: 'square', colour: 'a' },
  { shape: 'triangle', colour: 'f' },
  { shape: 'triangle', colour: 'b' },
  { shape: 'square', colour: 'c' },
  { shape: 'triangle', colour: 'd' },
  { shape: 'square', colour: 'e' },
];

export const LECTERN_LOOK = { shape: 'circle', colour: 'lectern' };

/** `name` is for the measurement, `label` for the plot. */
const SERVERS = [
  { name: 'floor', label: 'bare node:http', look: { shape: 'circle', colour: 'floor' } },
  { name: 'Lectern', label: 'Lectern', look: LECTERN_LOOK },
  ...PEERS.map(({ name }, n) => ({ name, label: name, look: LOOKS[n] })),
];

/**
 * Measured servers in the order of the plots.
 *
 * @template {{ name: string }} Server
 * @param {Server[]} measured
 * @returns {{ label: string, look: object, server: Server }[]}
 * @throws Error if one has no place in the plots
 */
export function inPlotOrder(measured) {
  const unknown = measured.find(({ name }) => !SERVERS.some((each) => each.name === name));
  if (unknown !== undefined) throw new Error(`the plots have no colour for ${unknown.name}`);
  return SERVERS.flatMap(({ name, label, look }) => {
    const server = measured.find((each) => each.name === name);
    return server === undefined ? [] : [{ label, look, server }];
  });
}
