/** Lines are read as in ical.js. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import ICAL from 'ical.js';
import { test } from 'tap';
import { parameterOf, readContentLine, unescapeText } from '../../../src/source/calendar/content-line.js';
import { size } from '../../hard/size.js';
import { calendarOf, readCalendar } from './calendars.js';

const plainText = fc
  .string({ unit: 'grapheme', maxLength: 60 })
  .map((text) => text.replace(/[\p{Cc}"^]/gu, ''));
const line = fc
  .record({
    name: fc.constantFrom('SUMMARY', 'summary', 'X-ROOM-NO', 'Location'),
    parameters: fc.uniqueArray(fc.tuple(fc.constantFrom('CN', 'LANGUAGE', 'X-A'), plainText, fc.boolean()), {
      maxLength: 2,
      selector: ([name]) => name,
    }),
    value: plainText,
  })
  .map(({ name, parameters, value }) => {
    const written = parameters.map(([parameter, text, isQuoted]) => {
      const isSafe = !/[,;:]/.test(text);
      return `;${parameter}=${isQuoted || !isSafe ? `"${text}"` : text}`;
    });
    const escaped = value.replace(/[\\,;]/g, (character) => `\\${character}`);
    return { name: name.toUpperCase(), parameters, text: `${name}${written.join('')}:${escaped}` };
  });

test('names, parameters and texts agree with ical.js', (t) => {
  let withParameters = 0;
  fc.assert(
    fc.property(line, ({ name, parameters, text }) => {
      const bytes = Buffer.from(text);
      const read = readContentLine(bytes, 0, bytes.length, false);
      assert.ok(typeof read !== 'string', text);
      const [theirName, theirParameters, , theirValue] = ICAL.parse.property(text) as [
        string,
        Record<string, string>,
        string,
        string,
      ];
      assert.equal(read.name, name);
      assert.equal(read.name.toLowerCase(), theirName);
      // ical.js leaves the values of X- properties unparsed.
      const value = name.startsWith('X-') ? read.value : unescapeText(read.value);
      assert.equal(value, theirValue);
      for (const [parameter] of parameters) {
        withParameters++;
        assert.equal(parameterOf(read.parameters, parameter), theirParameters[parameter.toLowerCase()] ?? '');
      }
    }),
    { numRuns: size(500, 100_000, 2000), seed: 11 },
  );
  t.ok(withParameters > size(100, 500, 500));
  t.end();
});

test('folding at any place gives the same text', (t) => {
  fc.assert(
    fc.property(
      plainText,
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 1, max: 9 }),
      (text, width, piece) => {
        const bytes = Buffer.from(`SUMMARY:${text.replace(/[\\,;]/g, (character) => `\\${character}`)}`);
        const parts: string[] = [];
        for (let at = 0; at < bytes.length; at += width) {
          parts.push(bytes.subarray(at, at + width).toString('latin1'));
        }
        const lines = ['BEGIN:VEVENT', 'DTSTART:20260914T060000Z', parts.join('\r\n '), 'END:VEVENT'];
        const { events } = readCalendar(Buffer.from(calendarOf(...lines), 'latin1'), {}, piece);
        assert.equal(events[0]?.SUMMARY, text);
      },
    ),
    { numRuns: size(120, 20_000, 500), seed: 12 },
  );
  t.end();
});
