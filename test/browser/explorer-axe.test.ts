/** Accessibility of each view: at three widths, in light and dark, from left to right and from right to left, on screens and paper. */
import { test } from 'tap';
import { HARD } from '../hard/size.js';
import { axeFindings, COLOUR_RULES, viewsOf } from './axe.js';
import { NO_BROWSER, newPage, openBrowser } from './chromium.js';
import { openDemo } from './demo.js';

const WIDTHS = [360, 768, 1920];
/** From left to right, and from right to left. Only test:hard looks at each width in dark, and from right to left. */
const LANGUAGES = ['de', 'he'];

test('axe finds nothing in any view', { skip: NO_BROWSER ?? false }, async (t) => {
  const service = await openDemo(t);
  const browser = await openBrowser(t, { locale: 'en-GB', timezoneId: 'UTC' });
  for (const language of LANGUAGES) {
    for (const [view, search] of viewsOf('ÉCO-3A').entries()) {
      await t.test(`${search} in ${language}`, async (t) => {
        const { page, errors } = await newPage(browser);
        await page.clock.setFixedTime(Date.UTC(2026, 9, 7, 9, 40));
        await page.goto(`${service.baseUrl}/view${search}&lang=${language}`);
        await page.locator('[aria-busy="false"]').first().waitFor();
        t.equal(await page.evaluate('document.documentElement.dir'), language === 'he' ? 'rtl' : 'ltr');
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 900 });
          const isItsTurn = HARD || width === WIDTHS[view % WIDTHS.length];
          if (isItsTurn || language === 'de') {
            await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
            t.same(await axeFindings(page), [], `${width} px, light`);
          }
          if (HARD || (isItsTurn && language === 'de')) {
            await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
            t.same(await axeFindings(page, COLOUR_RULES), [], `${width} px, dark`);
          }
          const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
          t.notOk(isWide, `no sideways scrolling at ${width} px`);
        }
        // Paper has one width and one scheme.
        await page.setViewportSize({ width: 768, height: 900 });
        await page.emulateMedia({ media: 'print' });
        t.same(await axeFindings(page), [], 'on paper');
        t.same(errors, []);
        await page.close();
      });
    }
  }
});
