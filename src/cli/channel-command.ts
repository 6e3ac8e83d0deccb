import { LEASE_MS_MAX, REPLICA_SILENT_MS } from '../base/limits.js';
import {
  type Announcement,
  type Channel,
  type ChannelKeys,
  type ChannelStatus,
  openChannel,
} from '../fleet/channel.js';
import { writeKeyPair } from '../fleet/keys.js';
import type { ReplicaReport } from '../fleet/store-records.js';
import { writeOut } from './printable.js';
import { formatBytes, formatCountOf } from './wording.js';

export type ChannelAction = 'status' | 'pin' | 'unpin' | 'rollback';

export interface ChannelActionOptions extends ChannelKeys {
  readonly json?: boolean | undefined;
}

/** `lectern channel`: one action of an operator, and its result. */
export async function operateChannel(
  action: ChannelAction,
  address: string,
  id: string,
  options: ChannelActionOptions,
): Promise<void> {
  const channel = await openChannel(address, options);
  try {
    writeOut(`${await ACTIONS[action](channel, id, options)}\n`);
  } finally {
    await channel.close();
  }
}

export function makeKeys(name: string): void {
  const { privateKey, publicKey } = writeKeyPair(name);
  writeOut(`made ${privateKey} for the publishers, which is secret, and ${publicKey} for the replicas\n`);
}

const ACTIONS: Readonly<
  Record<ChannelAction, (channel: Channel, id: string, options: ChannelActionOptions) => Promise<string>>
> = {
  async status(channel, _, { json }) {
    const status = await channel.status();
    return json === true ? JSON.stringify(status, null, 2) : formatStatus(status);
  },
  async pin(channel, id) {
    await channel.pin(id);
    return `pinned ${await describeChosen(channel, id, 'Replicas serve it until you run lectern channel unpin')}`;
  },
  async unpin(channel) {
    await channel.unpin();
    return 'unpinned: replicas serve the head';
  },
  async rollback(channel) {
    const id = await channel.rollback();
    return `rolled back: pinned ${await describeChosen(channel, id, 'Fix the source, then run lectern channel unpin')}`;
  },
};

function formatStatus(status: ChannelStatus): string {
  const { head, pinned, images, replicas, ignored, unread } = status;
  const lines = [
    `head       ${describe(head)}`,
    `pinned     ${pinned ?? 'none'}`,
    `publisher  ${describeLeader(status)}`,
    ...(images.length === 0 ? ['images     none'] : images.map((image) => `image      ${describe(image)}`)),
    ...replicas.map((replica) => `replica    ${describeReplica(replica)}`),
    ...ignored.map((key) => `ignored    record ${key}: it is malformed or forged`),
    ...(unread === 0
      ? []
      : [`unread     ${unread} further records of images: a running publisher removes them`]),
  ];
  return lines.join('\n');
}

function describeLeader({ leader, leaderRenewedAtMs }: ChannelStatus): string {
  if (leader === null) return 'none leads';
  if (leaderRenewedAtMs === null) return leader;
  const agoMs = Date.now() - leaderRenewedAtMs;
  const seen = `${leader}, last seen ${new Date(leaderRenewedAtMs).toISOString()}`;
  return agoMs > LEASE_MS_MAX ? `${seen}: it may have ended` : seen;
}

/** A killed replica is still listed for a minute. */
function describeReplica({ name, version, serves, lastError, reportedAtMs }: ReplicaReport): string {
  const isSilent = Date.now() - reportedAtMs > REPLICA_SILENT_MS;
  const image = serves === null ? 'nothing yet' : `${serves.id}, sequence ${serves.sequence}`;
  const what = isSilent ? `it may have ended, and served ${image}` : `serves ${image}`;
  const why = lastError === null ? '' : `; ${lastError}`;
  return `${name}, version ${version}, last seen ${new Date(reportedAtMs).toISOString()}: ${what}${why}`;
}

function describe(image: Announcement | null): string {
  if (image === null) return 'none: no publisher has announced an image in this store';
  const { id, sequence, events, bytes, announcedAtMs } = image;
  const when = new Date(announcedAtMs).toISOString();
  return `${id}, sequence ${sequence}, ${formatCountOf(events, 'event')}, ${formatBytes(bytes)}, announced ${when}`;
}

/** The pinned image, and a warning if it may be the bad timetable that the operator wants to replace. */
async function describeChosen(channel: Channel, id: string, remedy: string): Promise<string> {
  const { head, images } = await channel.status();
  const image = images.find((each) => each.id === id);
  if (image === undefined) return `${id}. ${remedy}`;
  const described = `${describe(image)}. ${remedy}`;
  if (head === null || image.events >= head.events / 2) return described;
  const few = `it has ${formatCountOf(image.events, 'event')}, and the head has ${formatCountOf(head.events, 'event')}`;
  return `${described}\nwarning: ${few}: it may be a bad timetable. Run lectern channel status to see the other images`;
}
