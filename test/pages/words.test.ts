/** Every language has every text, with the same things to fill in and the forms that its plurals need. */
import { test } from 'tap';
import {
  fill,
  LANGUAGES,
  type LanguageCode,
  languageFor,
  loadLanguage,
  type Plural,
} from '../../pages/words.js';

const codes = Object.keys(LANGUAGES) as LanguageCode[];
const formsOf = (text: string | Plural): [string, string][] =>
  typeof text === 'string' ? [['', text]] : Object.entries(text);
const namesIn = (text: string): string => [...new Set(text.match(/\{\w+\}/g) ?? [])].sort().join();

test('no text is missing in any language', async (t) => {
  const english = await loadLanguage('en');
  for (const code of codes) {
    const words = await loadLanguage(code);
    t.same(Object.keys(words).sort(), Object.keys(english).sort(), code);
    const { pluralCategories } = new Intl.PluralRules(code).resolvedOptions();
    for (const [name, text] of Object.entries(words)) {
      const usual = english[name as keyof typeof english];
      const wanted = namesIn(formsOf(usual).at(-1)?.[1] ?? '');
      t.equal(typeof text, typeof usual, `${code} ${name}`);
      for (const [form, words] of formsOf(text)) {
        t.ok(words.trim() !== '', `${code} ${name} ${form}`);
        // A form for one, or none, may go without the number.
        const found = namesIn(words);
        t.ok(
          found === wanted || /^(one|two)$/.test(form),
          `${code} ${name} ${form}: ${found}, not ${wanted}`,
        );
      }
      if (typeof text === 'string') continue;
      for (const category of pluralCategories) {
        // Fractions do not occur.
        if (category === 'many' && ['fr', 'es'].includes(code)) continue;
        if (category === 'two' || category === 'other' || category in text) continue;
        t.fail(`${code} ${name} lacks the form "${category}"`);
      }
    }
  }
});

test('texts are filled in, with numbers and plurals of the language', (t) => {
  const text = { one: '{n} lesson', other: '{n} lessons' };
  t.equal(fill(text, 'en', { n: 1 }), '1 lesson');
  t.equal(fill(text, 'en', { n: 1234 }), '1,234 lessons');
  t.equal(fill('{a} {b}', 'en', { a: '<b>', b: '$1' }), '<b> $1');
  t.end();
});

test('the language is the first that the person wants and there is', (t) => {
  t.equal(languageFor(['xx', 'en-US']), 'en');
  t.equal(languageFor([]), 'en');
  t.end();
});
