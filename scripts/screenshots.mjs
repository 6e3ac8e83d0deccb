/**
 * Takes the screenshots of docs/pages.md and README.md, on the demo:
 *
 *     npm run screenshots [-- --all <folder> [<part of a name> …]]
 *
 * The time is fixed, so that the week that is shown is full.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { startService } from '../dist/app/service.js';
import { changedRows } from './demo-rows.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const isAll = process.argv.includes('--all');
const [folder = join(ROOT, 'docs/pages'), ...parts] = process.argv
  .slice(2)
  .filter((each) => each !== '--all');
/** A Wednesday of the demo's term. */
const NOW_MS = Date.UTC(2026, 10, 11, 9, 40);
const SIZES = { phone: [360, 740], tablet: [768, 1024], wide: [1920, 1080], usual: [1280, 800] };

/** A group with a clash in this week. */
const GROUP = 'BIO-2A';

const OF = `of=group:${GROUP}`;
const ALL = ['phone', 'tablet', 'wide', 'usual'];
const BOTH = ['light', 'dark'];

/** Those that are `kept` are in docs/pages/; all are taken with --all, to be looked at. */
const SHOTS = [
  { name: 'week', search: `?${OF}`, sizes: ALL, schemes: BOTH, kept: ['usual', 'usual-dark', 'phone'] },
  {
    name: 'lesson',
    search: `?${OF}`,
    click: '.lesson[data-clash]',
    sizes: ['usual', 'wide'],
    kept: ['usual'],
  },
  { name: 'beside', search: `?${OF}&of=group:BIO-1D`, sizes: ['wide', 'tablet'], kept: [] },
  { name: 'day', search: `?view=day&${OF}&of=group:BIO-1D&of=group:PHY-1A`, sizes: ALL, kept: [] },
  { name: 'month', search: `?view=month&${OF}`, sizes: ALL, schemes: BOTH, kept: [] },
  { name: 'list', search: `?view=list&${OF}`, sizes: ALL, schemes: BOTH, kept: [] },
  { name: 'find', search: `?${OF}`, type: 'bio', sizes: ALL, kept: [] },
  {
    name: 'take',
    search: `?${OF}`,
    click: '.toolbar-end .button',
    next: '.take .primary',
    waits: '.qr',
    sizes: ALL,
    kept: ['usual'],
  },
  { name: 'hebrew', search: `?lang=he&${OF}`, sizes: ALL, kept: [] },
  {
    name: 'free',
    search: '?view=free&hour=14:00&minutes=120&seats=30&date=2026-11-16',
    waits: '.bar-lesson',
    sizes: ALL,
    schemes: BOTH,
    kept: ['usual'],
  },
  { name: 'clashes', search: '?view=clashes', sizes: ALL, schemes: BOTH, kept: ['usual'] },
  { name: 'usage', search: '?view=usage', sizes: ALL, schemes: BOTH, kept: ['usual'] },
  {
    name: 'changes',
    search: '?view=changes&by=all',
    sizes: ALL,
    schemes: BOTH,
    kept: ['usual'],
  },
  { name: 'state', search: '?view=state', sizes: ['usual'], kept: [] },
  { name: 'print', search: `?${OF}`, sizes: ['usual'], media: 'print', kept: [] },
];

/** A quarter of the bytes of PNG. The browser converts it. */
async function webpOf(page, picture) {
  const address = await page.evaluate(
    async (data) => {
      const image = new Image();
      image.src = data;
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', 0.9);
    },
    `data:image/png;base64,${picture.toString('base64')}`,
  );
  return Buffer.from(address.slice(address.indexOf(',') + 1), 'base64');
}

mkdirSync(folder, { recursive: true });
const profile = mkdtempSync(join(tmpdir(), 'lectern-screenshots-'));
const lines = gunzipSync(readFileSync(join(ROOT, 'fixtures/demo.ndjson.gz'))).toString('utf8');
const source = join(profile, 'demo.ndjson');
writeFileSync(source, lines);
const service = await startService({
  source,
  rooms: join(ROOT, 'fixtures/demo-rooms.ndjson'),
  dev: true,
  port: 0,
  // Only for these pictures.
  feedSecret: 'pictures '.repeat(8),
});
await service.ready;
const rows = lines
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line));
const changed = changedRows(rows, NOW_MS);
writeFileSync(source, changed.map((row) => JSON.stringify(row)).join('\n'));
await service.timetable.refresh();
const browser = await chromium.launchPersistentContext(join(profile, 'browser'), {
  executablePath: process.env.LECTERN_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
  locale: 'en-GB',
  timezoneId: 'UTC',
});
try {
  for (const {
    name,
    search,
    sizes,
    schemes = ['light'],
    click,
    next,
    waits,
    type,
    media = 'screen',
    kept,
  } of SHOTS) {
    if (parts.length > 0 && !parts.some((part) => name.includes(part))) continue;
    for (const size of sizes) {
      for (const colorScheme of schemes) {
        const kind = `${size}${colorScheme === 'dark' ? '-dark' : ''}`;
        if (!isAll && !kept.includes(kind)) continue;
        const page = await browser.newPage();
        page.on('console', (message) => message.type() === 'error' && console.error(name, message.text()));
        page.on('pageerror', (error) => console.error(name, error.message));
        const [width, height] = SIZES[size];
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce', media });
        await page.clock.setFixedTime(NOW_MS);
        await page.goto(`${service.baseUrl}/view${search}`);
        await page.locator('[aria-busy="false"]').first().waitFor();
        if (click !== undefined) await page.locator(click).first().click();
        if (next !== undefined) await page.locator(next).first().click();
        if (waits !== undefined) await page.locator(waits).first().waitFor();
        if (type !== undefined) {
          await page.locator('.find input').fill(type);
          await page.locator('.found li').first().waitFor();
        }
        await page.evaluate('document.fonts.ready');
        const picture = await page.screenshot();
        writeFileSync(join(folder, `${name}-${kind}.webp`), await webpOf(page, picture));
        await page.close();
      }
    }
  }
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  await service.close();
}
