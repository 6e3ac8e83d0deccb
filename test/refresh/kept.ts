/** A keeper with a fake loader, whose events become lines. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LecternError } from '../../src/base/errors.js';
import { resolveOptions } from '../../src/options/resolve.js';
import type { Gate } from '../../src/refresh/gate.js';
import { Keeper, type KeeperOptions } from '../../src/refresh/keeper.js';
import type { SnapshotImage } from '../../src/snapshot/image.js';
import { imageOfCount } from '../snapshot/images.js';
import { FakeLoader, type FakeSource } from './fake-loader.js';

export const GATE_DEFAULTS: Gate = resolveOptions('gate', {});

export const full: SnapshotImage = imageOfCount(10, { title: 'full' });
export const other: SnapshotImage = imageOfCount(10, { title: 'other' });
export const half: SnapshotImage = imageOfCount(5, { title: 'half' });
export const down: LecternError = new LecternError('source-unreadable', 'the upstream is down');

export interface Setting {
  readonly loader: FakeLoader;
  readonly keeper: Keeper;
  /** The events of the keeper, one line each. */
  readonly told: string[];
}

export function keep(
  source: FakeSource,
  options: Partial<KeeperOptions> = {},
  loader: FakeLoader = new FakeLoader(source),
): Setting {
  const told: string[] = [];
  let nowMs = 0;
  const keeper = new Keeper({
    loader: loader.asLoader,
    gate: GATE_DEFAULTS,
    bounds: { memoryBytesMax: null },
    refreshSeconds: 0,
    watch: false,
    snapshotFile: null,
    pin: null,
    events: {
      publish: ({ image, origin, changes: [change] }) =>
        told.push(
          `published ${titleOf(image)} from ${origin}${change === undefined ? '' : ` +${change.added} ~${change.changed} -${change.removed}`}`,
        ),
      refused: ({ code }) => told.push(`refused: ${code}`),
      failed: ({ message }) => told.push(`failed: ${message}`),
    },
    now: () => ++nowMs,
    random: () => 0.5,
    ...options,
  });
  return { loader, keeper, told };
}

export function titleOf(image: { readonly rows: { readonly bytes: Uint8Array } }): string {
  return /"title":"([^"]*)"/.exec(Buffer.from(image.rows.bytes).toString('utf8'))?.[1] ?? 'nothing';
}

/** The path of an existing file, because the keeper checks this before it asks the loader. */
export function existingFile(t: { teardown(callback: () => void): unknown }): string {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-keeper-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'image'), '');
  return join(folder, 'image');
}

export const STORED: { readonly image: SnapshotImage; readonly sourceVersion: string } = {
  image: full,
  sourceVersion: '7',
};

/** A keeper with a snapshot file, by default of the source's version 7. */
export function keepStored(
  t: { teardown(callback: () => void): unknown },
  source: FakeSource,
  stored: FakeLoader['stored'] = STORED,
): Setting {
  const loader = new FakeLoader(source);
  loader.stored = stored;
  return keep(source, { snapshotFile: existingFile(t) }, loader);
}
