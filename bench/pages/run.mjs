/**
 * What the pages cost a browser: processor time of the page's thread, from a click until the view has been painted.
 *
 *     npm run bench:pages [-- --runs 5 --before <folder> --profile <folder>]
 *
 * A week of 600 lessons and a day of 500 rooms, in Chromium, on the built package. "Slowed" is the time on the clock
 * with the processor slowed four times by Chromium; it needs an idle machine. Figures are medians, with the smallest
 * and the largest in parentheses. With `--before`, another build is measured by turns with this one.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { readOptions } from '../options.mjs';

const HELP = `npm run bench:pages -- [options]

  --runs <n>          pages for each measurement, 5 by default
  --before <folder>   a checkout that was built: its pages are measured, too
  --profile <folder>  writes a profile of each measurement there (.cpuprofile), instead of measuring
`;
const {
  runs: runsText,
  before,
  profile,
} = readOptions(HELP, {
  runs: { type: 'string', default: '5' },
  before: { type: 'string' },
  profile: { type: 'string' },
});
const runs = Number(runsText);
/** A Monday. */
const MONDAY_MS = Date.UTC(2026, 9, 5);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;
const [LESSONS, ROOMS, WEEKS] = [600, 500, 3];
const SETTLED_MS = 2500;
const uuid = (kind, n) => `00000000-0000-4000-8${kind}00-${String(n).padStart(12, '0')}`;
const TYPES = ['LEC', 'LAB', 'SEM', 'TUT', 'EXAM'];

/** Lessons of one group, at all hours of five days, each in a room of its own; and six a day in every other room. */
function rows() {
  const all = [];
  const add = (n, room, start, minutes, studyGroup) =>
    all.push({
      id: uuid(0, all.length),
      time: new Date(start).toISOString(),
      endTime: new Date(start + minutes * 60_000).toISOString(),
      title: `Lecture number ${n % 97}`,
      roomId: uuid(1, room),
      roomName: `Room ${room}`,
      courseId: uuid(2, n % 97),
      courseName: `Course ${n % 97}`,
      lecturer: `Lecturer ${n % 61}`,
      type: TYPES[n % TYPES.length],
      studyGroup,
    });
  for (let week = 0; week < WEEKS; week++) {
    for (let n = 0; n < LESSONS; n++) {
      const start = MONDAY_MS + week * WEEK_MS + (n % 5) * DAY_MS + (8 + ((n * 7) % 20) / 2) * HOUR_MS;
      add(n, n % ROOMS, start, [45, 60, 90, 120][n % 4], 'ALL');
    }
    for (let room = 0; room < ROOMS; room++) {
      for (let hour = 8; hour < 20; hour += 2)
        add(room, room, MONDAY_MS + week * WEEK_MS + hour * HOUR_MS, 90, `G${room}`);
    }
  }
  return all;
}

const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-pages-'));
const source = join(folder, 'rows.ndjson');
writeFileSync(
  source,
  rows()
    .map((row) => JSON.stringify(row))
    .join('\n'),
);
const services = [];
for (const checkout of [
  ...(before === undefined ? [] : [resolve(before)]),
  resolve(import.meta.dirname, '../..'),
]) {
  const { startService } = await import(pathToFileURL(join(checkout, 'dist/app/service.js')).href);
  const service = await startService({ source, dev: true, port: 0 });
  await service.ready;
  services.push(service);
}
const browser = await chromium.launchPersistentContext(join(folder, 'browser'), {
  executablePath: process.env.LECTERN_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
  viewport: { width: 1280, height: 800 },
  locale: 'en-GB',
  timezoneId: 'UTC',
});
browser.setDefaultTimeout(120_000);

/**
 * Runs before the page. The time stands still; Playwright's clock would replace the timers too, whose work would be
 * counted. `painted` resolves after the frame in which the selector first matched, by the real clock.
 */
const WATCH = `window.Date = class extends Date {
  constructor(...given) { given.length === 0 ? super(${MONDAY_MS + 9 * HOUR_MS}) : super(...given); }
  static now() { return ${MONDAY_MS + 9 * HOUR_MS}; }
};
window.painted = (selector) => new Promise((resolve) => {
  const look = () => {
    if (document.querySelector(selector) === null) return false;
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now()), 0));
    return true;
  };
  if (look()) return;
  const observer = new MutationObserver(() => look() && observer.disconnect());
  const attributeFilter = ['aria-busy', 'aria-label', 'data-date'];
  observer.observe(document, { subtree: true, childList: true, attributeFilter });
});`;

const NEXT = 'button[aria-label="Next"]';
const STEPS = [
  {
    name: `a week of ${LESSONS} lessons at first`,
    from: '?of=group:G1',
    prepare: (page) => page.locator('.find input').fill('ALL'),
    ready: '.found li',
    click: '.found li',
    shown: '.body[aria-busy="false"] .day[aria-label^="ALL"] .box',
  },
  {
    name: 'the next week, read in advance',
    from: '?of=group:ALL',
    ready: '.box',
    click: NEXT,
    shown: '.body[aria-busy="false"] .day[aria-label*="12 October"] .box',
  },
  {
    name: `a day of ${ROOMS} rooms at first`,
    from: '?of=group:G1',
    ready: '.box',
    click: '.views a[href*="view=free"]',
    shown: '.body[aria-busy="false"] .bar-lesson',
  },
  {
    name: `a day of ${ROOMS} rooms at first, pointed at before`,
    from: '?of=group:G1',
    ready: '.box',
    isPointedAt: true,
    click: '.views a[href*="view=free"]',
    shown: '.body[aria-busy="false"] .bar-lesson',
  },
  {
    name: 'another day of these rooms',
    from: '?view=free&hour=10:00',
    ready: '.bar-lesson',
    click: NEXT,
    shown: '.body[aria-busy="false"] .bars[data-date="2026-10-06"]',
  },
];

/** Processor time of the page's thread from the click on, in milliseconds. @param events of a trace */
function threadMs(events) {
  const mark = (text) => events.find(({ name, args }) => name === 'TimeStamp' && args.data.message === text);
  const [click, painted] = [mark('click'), mark('painted')];
  let [sum, end] = [0, 0];
  for (const { ph, pid, tid, ts, dur, tdur = 0 } of events.sort((a, b) => a.ts - b.ts || b.dur - a.dur)) {
    const isOwn = ph === 'X' && pid === click.pid && tid === click.tid && ts + dur > click.ts;
    // Those inside of another one are counted with it.
    if (!isOwn || ts < end || ts > painted.ts) continue;
    sum += tdur;
    end = ts + dur;
  }
  return sum / 1000;
}

async function measure(service, step, rate) {
  const page = await browser.newPage();
  await page.addInitScript({ content: WATCH });
  await page.goto(`${service.baseUrl}/view${step.from}`);
  await step.prepare?.(page);
  await page.locator(step.ready).first().waitFor();
  if (step.isPointedAt) await page.hover(step.click);
  // The weeks before and after are read in advance, and what is pointed at.
  await page.waitForTimeout(SETTLED_MS);
  const session = await page.context().newCDPSession(page);
  const events = [];
  session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await session.send('Tracing.start', { categories: 'toplevel,devtools.timeline,blink' });
  await session.send('Emulation.setCPUThrottlingRate', { rate });
  if (profile !== undefined) {
    await session.send('Profiler.enable');
    await session.send('Profiler.setSamplingInterval', { interval: 200 });
    await session.send('Profiler.start');
  }
  const clockMs = await page.evaluate(
    `(() => {
      const began = performance.now();
      const end = painted(${JSON.stringify(step.shown)});
      // The click is a task of its own, so that it is counted.
      setTimeout(() => {
        console.timeStamp('click');
        document.querySelector(${JSON.stringify(step.click)}).click();
      });
      return end.then((at) => (console.timeStamp('painted'), at - began));
    })()`,
  );
  const traced = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.end');
  await traced;
  if (profile !== undefined) {
    const { profile: taken } = await session.send('Profiler.stop');
    mkdirSync(profile, { recursive: true });
    writeFileSync(join(profile, `${step.name.replaceAll(' ', '-')}.cpuprofile`), JSON.stringify(taken));
  }
  await page.close();
  return { clockMs, ms: threadMs(events) };
}

const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, middle, high] = [sorted[0], sorted[sorted.length >> 1], sorted.at(-1)].map(Math.round);
  return `${middle} (${low}–${high})`;
};

try {
  const names = services.length > 1 ? ['thread before, ms', 'thread, ms'] : ['thread, ms'];
  const slowedNames = services.length > 1 ? ['slowed four times before', 'slowed'] : ['slowed four times'];
  const heads = ['view', ...names, ...slowedNames.map((name) => `${name}, on the clock`)];
  console.log(`| ${heads.join(' | ')} |\n|${'---|'.repeat(heads.length)}`);
  for (const step of STEPS) {
    const found = services.map(() => []);
    const slowed = services.map(() => []);
    for (let run = 0; run < (profile === undefined ? runs : 1); run++) {
      for (const [n, service] of services.entries()) {
        found[n].push((await measure(service, step, 1)).ms);
        if (profile === undefined) slowed[n].push((await measure(service, step, 4)).clockMs);
      }
    }
    const cells = [...found, ...slowed].map((values) => (values.length > 0 ? median(values) : '–'));
    console.log(`| ${[step.name, ...cells].join(' | ')} |`);
  }
} finally {
  await browser.close();
  for (const service of services) await service.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
