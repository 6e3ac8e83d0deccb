import type { JsonSchema } from '../model/schemas.js';
import { FEED_PARAMETERS } from '../query/endpoint-parameters.js';
import { EVERYWHERE, FEED_NOT_MODIFIED, feedResponse, jsonResponse, problemReferences } from './responses.js';

/** @param events the list of a feed, with examples of its formats */
export function feedPaths(events: {
  readonly items: JsonSchema;
  readonly example: object;
  readonly texts: Readonly<Record<string, string>>;
}): Record<string, JsonSchema> {
  return {
    '/schedule/feed': {
      get: {
        operationId: 'makeFeed',
        summary: 'The address of a feed',
        description:
          "An address that shows one timetable without a token: the user's own (for=personal), or the events that filters and window " +
          'select. The address alone is enough to read it, until it expires or is revoked.',
        tags: ['feeds'],
        security: [{ bearerAuth: [] }],
        parameters: [...FEED_PARAMETERS.keys()].map((name) => ({ $ref: `#/components/parameters/${name}` })),
        responses: {
          '200': jsonResponse('The address', { $ref: '#/components/schemas/Feed' }),
          ...problemReferences([...EVERYWHERE, 401, 403, 421]),
        },
      },
    },
    '/feeds/{feed}': {
      get: {
        operationId: 'readFeed',
        summary: 'A feed',
        description:
          'The address of /schedule/feed. Its ending chooses the format: .ics, .json, .csv, or .html for the page. Wrong, expired and revoked addresses get the same 404.',
        tags: ['feeds'],
        security: [],
        parameters: [
          {
            name: 'feed',
            in: 'path',
            required: true,
            description: 'The last part of an address from /schedule/feed, with its ending',
            schema: { type: 'string' },
          },
        ],
        responses: {
          '200': feedResponse({ type: 'array', items: events.items }, [events.example], events.texts),
          '304': FEED_NOT_MODIFIED,
          ...problemReferences([...EVERYWHERE, 412]),
        },
      },
    },
  };
}
