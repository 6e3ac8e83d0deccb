/**
 * The page of a feed: escapes, frame, policy and size. row-lists.test.ts compares its rows with the slow
 * version. Inside, because single texts are escaped.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'tap';
import { generateEvents } from '../../bench/generate.mjs';
import type { View } from '../../src/answer/view.js';
import type { NormalisedEvent, TimetableEvent } from '../../src/base/model/event.js';
import { fastTest } from '../hard/slow-test.js';
import { createNormaliser, isRejection } from '../normalise/objects.js';
import { pageRowsOf } from '../oracle/representations.js';
import { nastyTexts } from './nasty-texts.js';
import { bytesOf, listOf, readOf, STRICT, snapshotOfEvents, viewOfEvents } from './reading.js';
import { findDataSets, NO_DATA, recordsOf } from './real-sets.js';

const HOSTILE = [
  '<script>alert(1)</script>',
  '</td></tr></tbody></table><script>alert(1)</script>',
  '</style><img src=x onerror=alert(1)>',
  '</title></script><svg onload=alert(1)>',
  '<!-- <![CDATA[ ]]> -->',
  '"><a href=javascript:alert(1)>',
  "' onmouseover='alert(1)",
  '&lt;b&gt; &amp;amp; &#60;',
  '\u202egnp.\u2066x\u2069',
  'a\u0000b\u001b[31m\r\n\tc\u007f',
  '\ufeff\u2028\u0085',
];
const FEED = { name: 'Timetable: A', file: 'payload.mac' };
const EMPTY_PAGE_BYTES_MAX = 20_000;
const EVENT_BYTES_MAX = 400;

function eventWith(text: string | null, n: number): NormalisedEvent {
  const texts = { title: text, studyGroup: text, lecturer: text, type: text, roomName: text };
  const ids = { roomId: `room ${n}`, courseId: null, groupId: null, lecturerId: null };
  return { id: `e${n}`, time: n * 1000, endTime: n * 90_000_000, ...texts, ...ids };
}

function pageOf(view: View, feed: typeof FEED = FEED): string {
  return bytesOf(readOf(view.all([], STRICT)).execute('html', feed)).toString('utf8');
}

/** The parts of a page. */
function split(page: string): { head: string; rows: string; foot: string } {
  const [, head, rows, foot] = /^(.*<tbody>)(.*)(<\/tbody>.*)$/s.exec(page) ?? [];
  assert.ok(head !== undefined && rows !== undefined && foot !== undefined);
  return { head, rows, foot };
}

/** The texts of all cells; asserts that a row has no other markup than its own. */
function cellsOf(rows: string): string[] {
  const lines = rows.split('</tr>\n');
  assert.equal(lines.pop(), '');
  return lines.flatMap((line) => {
    const cells = line.replace(/^<tr>/, '').split('</td>');
    assert.equal(cells.pop(), '');
    assert.equal(cells.length, 7);
    return cells.map((cell) => {
      const text = cell
        .replace(/^<td>(<time datetime="[\dTZ:.-]{24}">(?=.*<\/time>$))?/, '')
        .replace('</time>', '');
      assert.doesNotMatch(text, /[<>"]|&(?!(amp|lt|gt|quot);)/);
      assert.doesNotMatch(text, /\p{Cc}(?<![\u0080-\u009f])/u);
      return text;
    });
  });
}

/** The text that a browser shows. */
const decoded = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
const shown = (text: string): string =>
  text.replace(/\p{Cc}/gu, (control) => (control >= '\u0080' ? control : ' '));

fastTest('hostile texts stay texts, in rows and in the name', async (t) => {
  const { head, foot } = split(pageOf(viewOfEvents([], 'any')));
  for (const text of HOSTILE) {
    const page = split(pageOf(viewOfEvents([eventWith(text, 1)], 'any')));
    t.same(
      cellsOf(page.rows).slice(2).map(decoded),
      new Array(5).fill(shown(text)),
      encodeURIComponent(text),
    );
    t.equal(page.head, head);
    t.equal(page.foot, foot);
    const named = pageOf(viewOfEvents([], 'any'), { ...FEED, name: text });
    const [, title, heading] = /<title>(.*)<\/title>.*<h1><bdi>(.*)<\/bdi><\/h1>/s.exec(named) ?? [];
    t.equal(title, heading);
    t.equal(decoded(title ?? ''), shown(text));
    t.notMatch(title, /[<>"]/);
  }
});

fastTest('every generated text stays a text', async (t) => {
  const texts = fc.oneof(nastyTexts, fc.constantFrom(...HOSTILE));
  fc.assert(
    fc.property(fc.array(fc.option(texts), { minLength: 1, maxLength: 5 }), (titles) => {
      const { rows } = split(pageOf(viewOfEvents(titles.map(eventWith), 'any')));
      const expected = titles.flatMap((text) => new Array(5).fill(shown(text ?? '')));
      // Without a title the room alone is known by another name.
      const found = cellsOf(rows)
        .filter((_, n) => n % 7 > 1)
        .map(decoded);
      for (const [n, text] of expected.entries()) {
        if (n % 5 !== 1 || text !== '') assert.equal(found[n], text);
      }
    }),
    { seed: 71, numRuns: 300 },
  );
  t.pass('300 sets of texts');
});

fastTest('the page loads files of the service, and nothing in it is inline', async (t) => {
  const page = pageOf(viewOfEvents([eventWith('x', 1)], 'any'));
  t.notMatch(page, /<style|<script(?! type="module" src="\.\.\/view\/)/);
  t.notMatch(page, /\s(on\w+|style)=/, 'no attribute that the policy forbids');
});

fastTest('links are relative: the same name with another ending, and files beside the feeds', async (t) => {
  const linksOf = (file: string): string[] => {
    const page = pageOf(viewOfEvents([], 'any'), { ...FEED, file });
    return [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map((match) => match[1] ?? '');
  };
  const links = linksOf('payload.mac');
  t.same(links.slice(-2), ['payload.mac.ics', 'payload.mac.csv']);
  t.ok(
    links.slice(0, -2).every((link) => /^\.\.\/view\/[\w.-]+$/.test(link)),
    links.join(' '),
  );
  t.same(
    linksOf('../payload.mac'),
    links.map((link) => `../${link}`),
    'below a slash',
  );
});

fastTest('rows have the names of rooms and courses, and the day of the end only if it differs', async (t) => {
  const fields = { roomId: 'r1', courseId: 'c1', roomName: 'Hall <north>', courseName: 'Algebra' };
  const events = [null, 'Own title'].map((title, n) => ({ ...eventWith('LEC', n), ...fields, title }));
  const { rows } = split(pageOf(viewOfEvents(events, 'any')));
  t.same(cellsOf(rows), [
    ...['1970-01-01 00:00', '00:00', 'Algebra', 'Hall &lt;north&gt;', 'LEC', 'LEC', 'LEC'],
    ...['1970-01-01 00:00', '1970-01-02 01:00', 'Own title', 'Hall &lt;north&gt;', 'LEC', 'LEC', 'LEC'],
  ]);
});

const normalised = (records: Iterable<object>): NormalisedEvent[] => {
  const normalise = createNormaliser('uuid');
  return [...records].flatMap((record, n) => {
    const event = normalise(record as Record<string, unknown>, { record: n + 1 });
    return isRejection(event) ? [] : [event];
  });
};

fastTest('equal data gives equal bytes, and a page has a known size', async (t) => {
  const events = normalised(generateEvents({ events: 500, seed: 9 }));
  const [page, again] = [events, events.toReversed()].map((each) => pageOf(viewOfEvents(each, 'uuid')));
  t.equal(page, again);
  const empty = Buffer.byteLength(pageOf(viewOfEvents([], 'uuid')));
  const perEvent = (Buffer.byteLength(page ?? '') - empty) / events.length;
  t.ok(empty < EMPTY_PAGE_BYTES_MAX, `${empty} bytes without events`);
  t.ok(perEvent < EVENT_BYTES_MAX, `${perEvent.toFixed(0)} bytes for each event`);
});

const dataSets = findDataSets();
test('pages of real timetables agree with the slow version', {
  skip: dataSets.length === 0 && NO_DATA,
}, async (t) => {
  for (const dataSet of dataSets) {
    const events = normalised(recordsOf(dataSet)).slice(0, 3000);
    const view = viewOfEvents(events, 'uuid');
    const listed = listOf(readOf(view.all([], STRICT)).execute('json')) as TimetableEvent[];
    t.ok(split(pageOf(view)).rows === pageRowsOf(listed), dataSet.name);
    t.equal(cellsOf(split(pageOf(view)).rows).length, 7 * snapshotOfEvents(events, 'uuid').rows.count);
  }
});
