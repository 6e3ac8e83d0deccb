/** The accessibility part of Lighthouse, of each view. It is too large for a development dependency: 201 packages, 186 MB. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { test } from 'tap';
import { HARD } from '../hard/size.js';
import { viewsOf } from './axe.js';
import { CHROMIUM, NO_BROWSER, SWITCHES } from './chromium.js';
import { openDemo } from './demo.js';

/** Lighthouse was installed here, with its Puppeteer. Commands started by tests would warn of a name with LECTERN_. */
const FOLDER = process.env.LIGHTHOUSE_FOLDER;
const skip =
  NO_BROWSER ?? (FOLDER === undefined ? 'no Lighthouse (LIGHTHOUSE_FOLDER names its folder)' : false);

interface Page {
  setViewport(size: { width: number; height: number }): Promise<void>;
  emulateMediaFeatures(features: { name: string; value: string }[]): Promise<void>;
  emulateMediaType(type: 'print' | 'screen'): Promise<void>;
  goto(url: string): Promise<unknown>;
  waitForSelector(selector: string): Promise<unknown>;
}
interface Puppeteer {
  launch(options: object): Promise<{ newPage(): Promise<Page>; close(): Promise<void> }>;
}
interface Audit {
  readonly id: string;
  readonly score: number | null;
  readonly details?: { readonly items?: readonly unknown[] };
}
interface Lighthouse {
  snapshot(page: Page, options: object): Promise<{ lhr: { audits: Readonly<Record<string, Audit>> } }>;
}

const FLAGS = {
  onlyCategories: ['accessibility'],
  screenEmulation: { disabled: true },
  disableFullPageScreenshot: true,
  logLevel: 'silent',
};
const WIDTHS = [360, 768, 1920];
const LOOKS = WIDTHS.flatMap((width) =>
  ['light', 'dark'].flatMap((scheme) => ['de', 'he'].map((language) => ({ width, scheme, language }))),
);
/** Every look of a view, or one or two, so that each look has its turn. */
const looksOf = (view: number, views: number): typeof LOOKS =>
  HARD ? LOOKS : LOOKS.filter((_, look) => look % views === view);

function load<Module>(name: string): Promise<Module> {
  const path = createRequire(join(FOLDER as string, 'node_modules/lighthouse/package.json')).resolve(name);
  return import(pathToFileURL(path).href) as Promise<Module>;
}

test('Lighthouse finds nothing in any view', { skip }, async (t) => {
  const service = await openDemo(t);
  const { default: puppeteer } = await load<{ default: Puppeteer }>('puppeteer-core');
  const { snapshot } = await load<Lighthouse>('./core/index.js');
  const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: SWITCHES });
  t.teardown(() => browser.close());
  const page = await browser.newPage();
  const findings = async (formFactor: string): Promise<string[]> => {
    const { lhr } = await snapshot(page, { flags: { ...FLAGS, formFactor } });
    const audits = Object.values(lhr.audits);
    t.ok(audits.filter(({ score }) => score === 1).length > 15, 'most audits concern the view');
    return audits
      .filter(({ score }) => score !== null && score < 1)
      .map(({ id, details }) => `${id}: ${JSON.stringify(details?.items)}`);
  };
  const views = viewsOf('ÉCO-3A');
  for (const [number, search] of views.entries()) {
    for (const { width, scheme, language } of looksOf(number, views.length)) {
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaType('screen');
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(`${service.baseUrl}/view${search}&lang=${language}`);
      await page.waitForSelector('[aria-busy="false"]');
      const name = `${search} in ${language}, ${width} px, ${scheme}`;
      t.same(await findings(width < 768 ? 'mobile' : 'desktop'), [], name);
      if (!HARD && number > 0) continue;
      await page.emulateMediaType('print');
      t.same(await findings('desktop'), [], `${name}, on paper`);
    }
  }
});
