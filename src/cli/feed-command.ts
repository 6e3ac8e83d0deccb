import { type Announcement, type Channel, type ChannelStatus, openChannel } from '../replication/channel.js';
import { formatBytes, formatCountOf } from './wording.js';

export type FeedAction = 'status' | 'pin' | 'unpin' | 'promote' | 'rollback';

export interface FeedActionOptions {
  readonly feedPublicKey?: string | undefined;
  readonly json?: boolean | undefined;
}

/** `lectern feed`: one action of an operator, and one line of output. `status` prints more. */
export async function operateFeed(
  action: FeedAction,
  address: string,
  id: string,
  { feedPublicKey, json }: FeedActionOptions,
): Promise<void> {
  const channel = await openChannel(address, { publicKeyFile: feedPublicKey });
  try {
    process.stdout.write(`${await ACTIONS[action](channel, id, json === true)}\n`);
  } finally {
    await channel.close();
  }
}

const ACTIONS: Readonly<
  Record<FeedAction, (channel: Channel, id: string, json: boolean) => Promise<string>>
> = {
  async status(channel, _, json) {
    const status = await channel.status();
    return json ? JSON.stringify(status, null, 2) : formatStatus(status);
  },
  async pin(channel, id) {
    await channel.pin(id);
    return `pinned ${id}: replicas serve it until you run lectern feed unpin`;
  },
  async unpin(channel) {
    await channel.unpin();
    return 'unpinned: replicas serve the head';
  },
  async promote(channel, id) {
    await channel.promote(id);
    return `promoted ${id}: it is the head now`;
  },
  async rollback(channel) {
    const id = await channel.rollback();
    return `rolled back: ${id} is pinned. Fix the source, then run lectern feed unpin`;
  },
};

function formatStatus({ head, candidate, pinned, leader, images, replicas }: ChannelStatus): string {
  const lines = [
    `head       ${describe(head)}`,
    ...(candidate === null ? [] : [`candidate  ${describe(candidate)}`]),
    `pinned     ${pinned ?? 'none'}`,
    `publisher  ${leader ?? 'none leads'}`,
    `images     ${images.map(({ id }) => id).join(' ') || 'none'}`,
    ...replicas.map(({ name, version, serves, isCanary, lastError }) => {
      const what =
        serves === null ? 'serves nothing yet' : `serves ${serves.id}, sequence ${serves.sequence}`;
      return `replica    ${name}${isCanary ? ' (canary)' : ''}, version ${version}: ${what}${lastError === null ? '' : `; ${lastError}`}`;
    }),
  ];
  return lines.join('\n');
}

function describe(image: Announcement | null): string {
  if (image === null) return 'none: no publisher has announced an image in this store';
  const { id, sequence, events, bytes, announcedAtMs } = image;
  const when = new Date(announcedAtMs).toISOString();
  return `${id}, sequence ${sequence}, ${formatCountOf(events, 'event')}, ${formatBytes(bytes)}, announced ${when}`;
}
