import { type Command, Option } from 'commander';
import type { ServiceOptions } from '../options/option-types.js';
import { checkSettings } from '../options/resolve.js';
import type { Setting } from '../options/setting.js';
import { SETTINGS } from '../options/table.js';
import type { FeedAction, FeedOptions } from './feed-command.js';
import type { PublishOptions } from './publish-command.js';
import { hasFlag, toOption, valuesOf } from './setting-options.js';

/** The settings of loads, and the settings that a publisher does not need. */
const LOADING_GROUPS: readonly string[] = ['Data', 'Reading', 'Refreshing'];
const NOT_PUBLISHING = [
  'rooms',
  'unknownParameters',
  'cacheMb',
  'staleSecondsMax',
  'pin',
  'feedPublicKey',
  'canary',
];
const OPERATING = ['logLevel', 'adminPort', 'adminHost', 'adminAllowedHosts', 'adminTokenFile'];
const PUBLISH_SETTINGS = SETTINGS.filter(
  ({ name, group }) =>
    OPERATING.includes(name) || (LOADING_GROUPS.includes(group) && !NOT_PUBLISHING.includes(name)),
  // In this command --to means the store, so the setting `to` has another flag.
).map((setting): Setting => (setting.name === 'to' ? { ...setting, flag: '--until' } : setting));

const STORE = 'store: nats://host:4222/name, tls://host:4222/name, or a folder that all machines share';

/** Commands for many machines: `publish` and `feed`. */
export function addStoreCommands(program: Command, exit: (code: number) => void): void {
  const publish = program
    .command('publish')
    .summary('load a timetable and announce it to replicas')
    .description(
      'Loads a timetable, and announces each accepted snapshot in a store. Replicas serve it: lectern serve nats://host:4222/name. ' +
        'If several publishers run, one announces. Another takes over within 10 s.',
    )
    .argument('<source...>', 'like those of lectern serve')
    .addOption(new Option('--to <store>', STORE).env('LECTERN_PUBLISH_TO').makeOptionMandatory())
    .addOption(
      new Option('--feed-key <file>', 'private key that signs announcements: Ed25519 or P-256, as PEM or JWK')
        .env('LECTERN_FEED_KEY')
        .makeOptionMandatory(),
    )
    .option('--once', 'end after one announcement');
  for (const setting of PUBLISH_SETTINGS.filter(hasFlag)) publish.addOption(toOption(setting));
  publish
    .addHelpText('after', PUBLISH_HELP)
    .action(async (source: readonly string[], parsed: Record<string, unknown>) => {
      const { to, feedKey, once } = parsed as Omit<PublishOptions, 'once'> & { readonly once?: boolean };
      const settings = { source, ...valuesOf(PUBLISH_SETTINGS, parsed) } as unknown as ServiceOptions;
      const { publish: runPublish } = await import('./publish-command.js');
      exit(await runPublish(checkSettings(settings), { to, feedKey, once: once === true }));
    });

  const feed = program
    .command('feed')
    .summary('show and choose the image that replicas serve')
    .description('Shows which image the replicas of a store serve, and chooses it.');
  addAction(feed, 'status', 'print the head, the images, the publisher and the replicas', false).option(
    '--json',
    'print JSON, for programs',
  );
  addAction(feed, 'pin', 'let every replica serve this image, until unpin', true);
  addAction(feed, 'unpin', 'let replicas serve the head again', false);
  addAction(feed, 'promote', 'make the candidate of the canary the head', true).option(
    '--force',
    'promote it even if no canary serves it',
  );
  addAction(feed, 'end-canary', 'announce to all replicas again, when there is no canary any more', false);
  addAction(feed, 'rollback', 'pin the image that was the head before the present one', false);
}

function addAction(feed: Command, action: FeedAction, description: string, hasId: boolean): Command {
  const command = feed.command(action).description(description);
  if (hasId) command.argument('<id>', 'id of the image, as status prints it');
  return command
    .argument('<store>', STORE)
    .addOption(
      new Option(
        '--feed-public-key <file>',
        "the publisher's public key; without it, signatures are not checked",
      ).env('LECTERN_FEED_PUBLIC_KEY'),
    )
    .action(async (...given: readonly unknown[]) => {
      const [id, store] = (hasId ? given : ['', ...given]) as readonly [string, string];
      const parsed = given[hasId ? 2 : 1] as FeedOptions;
      const { operateFeed } = await import('./feed-command.js');
      await operateFeed(action, store, id, parsed);
    });
}

const PUBLISH_HELP = `
Examples:
  openssl genpkey -algorithm ed25519 -out feed.key && openssl pkey -in feed.key -pubout -out feed.pub
  lectern publish timetable.ndjson --to nats://host:4222/timetable --feed-key feed.key
  lectern serve nats://host:4222/timetable --feed-public-key feed.pub --dev`;
