import { SECRET_BYTES_MIN } from '../auth/key-set.js';
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
    help: 'addresses for calendar programs, which send no token; without it there are none',
  },
  feedSecret: {
    option: 'secret',
    isEnvironmentOnly: true,
    isSecret: true,
    kind: SECRET,
    help: `secret that signs feed addresses, at least ${SECRET_BYTES_MIN} bytes, as text or as base64:… or base64url:…; without it there are no feeds`,
  },
  feedSecretFile: {
    option: 'secretFile',
    kind: PATH,
    help: 'file with that secret, read again when it changes',
  },
  feedSecretPrevious: {
    option: 'secretPrevious',
    isEnvironmentOnly: true,
    isSecret: true,
    kind: SECRET,
    help: 'feed secret before a rotation: its addresses stay good, and none is signed with it',
  },
  feedSecretPreviousFile: {
    option: 'secretPreviousFile',
    kind: PATH,
    help: 'file with that earlier secret, read again when it changes',
  },
  feedDays: {
    option: 'days',
    kind: count('number', 1, FEED_DAYS_MAX),
    default: 400,
    help: 'days that a new feed address is good for',
  },
  feedRevocationsFile: {
    option: 'revocationsFile',
    flag: '--feed-revocations',
    kind: PATH,
    help: 'JSON file of revoked feeds, {"sub": "2026-11-23T08:00:00Z"}: addresses of that user from before that time are refused; read again when it changes',
  },
  feedRevocations: {
    option: 'revocations',
    flag: null,
    kind: given('an object of times', isObject),
    help: 'which feeds are revoked: user, time',
  },
  publicUrl: {
    places: ['serve', 'handler'],
    kind: { ...text('address', publicUrlFault), range: 'an http(s) address' },
    help: 'address under which clients reach the service, such as https://timetable.example.org, for the addresses of feeds; without it, that of the connection where Host names it',
  },
});
