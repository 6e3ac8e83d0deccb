/** The settings of feeds: secrets, lifetime, revocations, public address. */
import { publicUrlFault } from '../http/public-address.js';
import { FEED_DAYS_MAX } from '../limits.js';
import { count, given, inGroup, isObject, PATH, type Setting, text } from './setting.js';
import { secretKind } from './token-settings.js';

const SECRET = secretKind('feed');

export const FEED_SETTINGS: readonly Setting[] = inGroup('Feeds', 'feed', {
  feed: {
    places: ['serve', 'handler'],
    flag: null,
    kind: given('an object of options', isObject),
    help: 'feed addresses for calendar programs that send no token; without it there are no feeds',
  },
  feedSecret: {
    option: 'secret',
    isEnvironmentOnly: true,
    isSecret: true,
    kind: SECRET,
    help: 'secret that signs feed addresses; further lines are earlier secrets, whose addresses stay valid; without it there are no feeds',
  },
  feedSecretFile: {
    option: 'secretFile',
    kind: PATH,
    help: 'file with the secret that signs feed addresses in its first line; further lines are earlier secrets, whose addresses stay valid; read again when it changes',
  },
  feedDays: {
    option: 'days',
    kind: count('number', 1, FEED_DAYS_MAX),
    default: 400,
    help: 'days for which a new feed address is valid',
  },
  feedRevocationsFile: {
    option: 'revocationsFile',
    flag: '--feed-revocations',
    kind: PATH,
    help: 'JSON file of revoked feeds, such as {"alice": "2026-11-23T08:00:00Z"}: addresses that this user (the sub of the token) got before this time are refused; read again when it changes',
  },
  feedRevocations: {
    option: 'revocations',
    flag: null,
    kind: given('an object of times', isObject),
    help: 'revoked feeds: for each user, the time of revocation',
  },
  publicUrl: {
    places: ['serve', 'handler'],
    kind: { ...text('address', publicUrlFault), range: 'an http(s) address' },
    help: 'address at which clients reach the service, such as https://timetable.example.org; feed addresses begin with it; default: the Host field of the request, but only if it names the local address and port of the connection',
  },
});
