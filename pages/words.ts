/** The languages of the pages. A language is one file in words/; English has all the names. */
import type en from './words/en.js';

export type Plural = Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>;
export type WordName = keyof typeof en;
export type Words = Readonly<Record<WordName, string | Plural>>;

export const LANGUAGES = {
  en: 'English',
  de: 'Deutsch',
  fr: 'Français',
  es: 'Español',
  uk: 'Українська',
  he: 'עברית',
} as const;
/** Languages that are written from right to left. */
export const RIGHT_TO_LEFT: readonly string[] = ['he'];
export type LanguageCode = keyof typeof LANGUAGES;

const FILES: Record<LanguageCode, () => Promise<{ default: Words }>> = {
  en: () => import('./words/en.js'),
  de: () => import('./words/de.js'),
  fr: () => import('./words/fr.js'),
  es: () => import('./words/es.js'),
  uk: () => import('./words/uk.js'),
  he: () => import('./words/he.js'),
};

export async function loadLanguage(code: LanguageCode): Promise<Words> {
  return (await FILES[code]()).default;
}

/** The first of the wanted languages that there is. @param wanted tags such as `de-AT` */
export function languageFor(wanted: readonly string[]): LanguageCode {
  for (const tag of wanted) {
    const found = (Object.keys(LANGUAGES) as LanguageCode[]).find(
      (code) => tag.toLowerCase().split('-')[0] === code,
    );
    if (found !== undefined) return found;
  }
  return 'en';
}

/** A format of Intl takes 50 µs to make, and is asked for hundreds of times. */
export function memoised<Format>(make: (language: string) => Format): (language: string) => Format {
  const made = new Map<string, Format>();
  return (language) => {
    let found = made.get(language);
    if (found === undefined) {
      found = make(language);
      made.set(language, found);
    }
    return found;
  };
}

const pluralsOf = memoised((language) => new Intl.PluralRules(language));
const numbersOf = memoised((language) => new Intl.NumberFormat(language));

/** Fills in `{name}`; a text with forms takes the one for the number `n`. */
export function fill(
  text: string | Plural,
  language: string,
  values: Readonly<Record<string, string | number>> = {},
): string {
  const { n } = values;
  const form = typeof text === 'string' ? text : (text[pluralsOf(language).select(Number(n))] ?? text.other);
  return form.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = values[name] ?? '';
    return typeof value === 'number' ? numbersOf(language).format(value) : value;
  });
}
