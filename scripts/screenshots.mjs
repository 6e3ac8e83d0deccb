/**
 * Takes the screenshots of docs/pages.md and README.md, on the demo:
 *
 *     npm run screenshots [-- <folder> [<part of a name> …]]
 *
 * The time is fixed, so that the week that is shown is full.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startService } from '../dist/service.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const [folder = join(ROOT, 'docs/pages'), ...parts] = process.argv.slice(2);
/** A Wednesday of the demo's term, 09:40 UTC. */
const NOW_MS = Date.UTC(2026, 9, 7, 9, 40);
const SIZES = { phone: [360, 740], tablet: [768, 1024], wide: [1920, 1080], usual: [1280, 800] };

/** A group with a clash in this week. */
const GROUP = 'ÉCO-3A';

const SHOTS = [
  {
    name: 'week',
    search: `?of=group:${GROUP}`,
    sizes: ['phone', 'tablet', 'wide', 'usual'],
    schemes: ['light', 'dark'],
  },
  {
    name: 'lesson',
    search: `?of=group:${GROUP}&date=2026-10-05`,
    click: '.lesson[data-clash]',
    sizes: ['usual', 'phone'],
  },
  { name: 'beside', search: '?of=group:INF-2B&of=group:BIO-1D', sizes: ['wide', 'tablet'] },
  { name: 'day', search: '?view=day&of=group:INF-2B&of=group:BIO-1D&of=group:PHY-1A', sizes: ['usual'] },
  { name: 'month', search: `?view=month&of=group:${GROUP}`, sizes: ['usual', 'phone'] },
  { name: 'list', search: `?view=list&of=group:${GROUP}`, sizes: ['usual', 'phone'] },
  { name: 'find', search: `?of=group:${GROUP}`, type: 'an', sizes: ['usual', 'phone'] },
  {
    name: 'take',
    search: `?of=group:${GROUP}`,
    click: '.toolbar-end .button',
    next: '.take .primary',
    waits: '.qr',
    sizes: ['usual'],
  },
  { name: 'hebrew', search: `?lang=he&of=group:${GROUP}`, sizes: ['usual', 'phone'] },
  { name: 'free', search: '?view=free', sizes: ['usual', 'phone', 'wide'], schemes: ['light', 'dark'] },
  { name: 'clashes', search: '?view=clashes', sizes: ['usual', 'phone'], schemes: ['light', 'dark'] },
  { name: 'usage', search: '?view=usage', sizes: ['usual', 'phone'], schemes: ['light', 'dark'] },
  { name: 'changes', search: '?view=changes', sizes: ['usual'] },
  { name: 'state', search: '?view=state', sizes: ['usual'] },
];

mkdirSync(folder, { recursive: true });
const service = await startService({
  source: join(ROOT, 'fixtures/demo.ndjson.gz'),
  rooms: join(ROOT, 'fixtures/demo-rooms.ndjson'),
  dev: true,
  port: 0,
  // Only for these pictures.
  feedSecret: 'pictures '.repeat(8),
});
await service.ready;
const profile = mkdtempSync(join(tmpdir(), 'lectern-screenshots-'));
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: process.env.LECTERN_CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
  locale: 'en-GB',
  timezoneId: 'UTC',
});
try {
  for (const { name, search, sizes, schemes = ['light'], click, next, waits, type } of SHOTS) {
    if (parts.length > 0 && !parts.some((part) => name.includes(part))) continue;
    for (const size of sizes) {
      for (const colorScheme of schemes) {
        const page = await browser.newPage();
        page.on('console', (message) => message.type() === 'error' && console.error(name, message.text()));
        page.on('pageerror', (error) => console.error(name, error.message));
        const [width, height] = SIZES[size];
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
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
        const scheme = colorScheme === 'dark' ? '-dark' : '';
        await page.screenshot({ path: join(folder, `${name}-${size}${scheme}.png`) });
        await page.close();
      }
    }
  }
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 3 });
  await service.close();
}
