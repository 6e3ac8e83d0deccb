import type { Command } from 'commander';
import type { Setting } from '../options/setting.js';
import { SETTINGS, settingsOfCommand } from '../options/table.js';
import type { ChannelAction } from './channel-command.js';
import { hasFlag, toOption, valuesOf } from './setting-options.js';

/** The keys of a channel, for its operators. */
const CHANNEL_KEYS = SETTINGS.filter(({ name }) =>
  ['publisherKey', 'publisherPublicKey', 'unsigned'].includes(name),
);
const STORE = (settingsOfCommand('publish').get('publishTo') as Setting).help;

/** Commands for many machines: `publish` and `channel`. */
export function addStoreCommands(program: Command, exit: (code: number) => void): void {
  const publish = program
    .command('publish')
    .summary('load a timetable and announce it to replicas')
    .description(
      'Loads a timetable, and announces each accepted snapshot in a store. Replicas serve it: lectern serve nats://host:4222/name. ' +
        'If several publishers run, only one announces; if it fails, another takes over within 10 s.',
    )
    .argument('<source...>', 'like those of lectern serve');
  const settings = [...settingsOfCommand('publish').values()];
  for (const setting of settings.filter(hasFlag)) publish.addOption(toOption(setting));
  publish
    .addHelpText('after', PUBLISH_HELP)
    .action(async (source: readonly string[], parsed: Record<string, unknown>) => {
      const { publish: runPublish } = await import('./publish-command.js');
      exit(await runPublish({ ...valuesOf(settings, parsed), source }));
    });

  const channel = program
    .command('channel')
    .summary('show and choose the image that replicas serve')
    .description('Shows which image the replicas of a store serve, and chooses it.');
  channel
    .command('keys')
    .description('make a pair of keys: NAME.key for the publishers, NAME.pub for the replicas')
    .argument('[name]', 'path and name of the files, without an ending', 'publisher')
    .action(async (name: string) => {
      const { makeKeys } = await import('./channel-command.js');
      makeKeys(name);
    });
  addAction(channel, 'status', 'print the head, the images, the publisher and the replicas', false).option(
    '--json',
    'print JSON, for programs',
  );
  addAction(channel, 'pin', 'let every replica serve this image, until unpin', true);
  addAction(channel, 'unpin', 'let replicas serve the head again', false);
  addAction(
    channel,
    'rollback',
    'pin the last image before the head or, while an image is pinned, before the pinned image',
    false,
  );
}

function addAction(channel: Command, action: ChannelAction, description: string, hasId: boolean): Command {
  const command = channel.command(action).description(description);
  if (hasId) command.argument('<id>', 'id of the image, as status prints it');
  for (const key of CHANNEL_KEYS) command.addOption(toOption(key).helpGroup('Options:'));
  return command.argument('<store>', STORE).action(async (...given: readonly unknown[]) => {
    const [id, store] = (hasId ? given : ['', ...given]) as readonly [string, string];
    const parsed = given[hasId ? 2 : 1] as { readonly json?: boolean };
    const { operateChannel } = await import('./channel-command.js');
    await operateChannel(action, store, id, { ...valuesOf(CHANNEL_KEYS, { ...parsed }), json: parsed.json });
  });
}

const PUBLISH_HELP = `
Examples:
  lectern channel keys
  lectern publish timetable.ndjson --to nats://host:4222/timetable --publisher-key publisher.key
  lectern serve nats://host:4222/timetable --publisher-public-key publisher.pub --dev`;
