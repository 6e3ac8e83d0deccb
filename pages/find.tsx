/** One field that finds rooms, lecturers, groups and courses. A combobox with a list, for keyboard and pointer. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { KINDS, type Target, type TargetKind } from './address.js';
import { client, NAME_MARK, reading, shortId } from './data.js';
import { Icon } from './parts.js';
import { say } from './speak.js';
import { isNarrow } from './store.js';
import { choose, keyOf, readRecent } from './targets.js';

interface Hit extends Target {
  readonly name: string;
  readonly events: number | null;
}

const PATHS = {
  room: '/schedule/rooms',
  lecturer: '/schedule/lecturers',
  group: '/schedule/groups',
  course: '/schedule/courses',
} as const;
const HITS_OF_KIND = 6;
/** Typing faster than this asks once. */
const TYPING_MS = 90;
const QUERY_LENGTH_MAX = 200;

async function findHits(text: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const read = async (kind: (typeof KINDS)[number], query: object): Promise<Hit[]> => {
    const { data } = await client.get(PATHS[kind], { ...query, limit: HITS_OF_KIND }, { signal });
    return data.map(({ id, name, events, studyGroup }): Hit => {
      const shown = name ?? shortId(id ?? '');
      if (kind === 'group') return { kind, id: studyGroup ?? name ?? id ?? '', name: shown, events };
      return { kind, id: id ?? `${NAME_MARK}${name ?? ''}`, name: shown, events };
    });
  };
  const q = text.slice(0, QUERY_LENGTH_MAX);
  const [byCode, ...lists] = await Promise.all([
    // The code of a group that has another name.
    read('group', { studyGroup: [q] }),
    ...KINDS.map((kind) => read(kind, { q })),
  ]);
  const groups = lists[KINDS.indexOf('group')] as Hit[];
  groups.unshift(...byCode.filter(({ id }) => groups.every((each) => each.id !== id)));
  const lower = text.toLowerCase();
  // What begins with the text is meant more often than what merely contains it.
  const rank = ({ id, name }: Hit): number =>
    name.toLowerCase() === lower || id === text ? 0 : name.toLowerCase().startsWith(lower) ? 1 : 2;
  return lists
    .map((list) => [...list].sort((a, b) => rank(a) - rank(b)))
    .sort((a, b) => (a[0] ? rank(a[0]) : 3) - (b[0] ? rank(b[0]) : 3))
    .flat();
}

let field: HTMLInputElement | null = null;
export function focusFind(): void {
  field?.focus();
  field?.select();
}

export function Find(): JSX.Element {
  const [text, setText] = useState('');
  const [hits, setHits] = useState<readonly Hit[]>([]);
  const [answered, setAnswered] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  const place = useRef<HTMLDivElement>(null);
  /** Whether to show the first hit beside the others, if Enter came before the hits. */
  const entered = useRef<boolean | null>(null);
  const wanted = text.trim();

  useEffect(() => {
    if (wanted === '') return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      reading(() => findHits(wanted, abort.signal)).then(
        (found) => {
          if (abort.signal.aborted) return;
          setHits(found);
          setAnswered(wanted);
          setActive(0);
          const isBeside = entered.current;
          entered.current = null;
          if (isBeside !== null) take(found[0], isBeside);
        },
        () => {},
      );
    }, TYPING_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [wanted]);

  const recent: readonly Hit[] = readRecent().map((each) => ({ ...each, events: null }));
  const shown: readonly Hit[] = wanted === '' ? recent : hits;
  const isAnswered = wanted === '' || answered === wanted;
  const take = (hit: Hit | undefined, isBeside: boolean): void => {
    if (hit === undefined) return;
    choose(hit, hit.name, isBeside);
    setText('');
    setOpen(false);
    document.getElementById('main')?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const { key } = event;
    const last = shown.length - 1;
    if (key === 'ArrowDown') setActive(isOpen ? Math.min(active + 1, last) : 0);
    else if (key === 'ArrowUp') setActive(Math.max(active - 1, 0));
    else if (key === 'Enter' && isOpen && isAnswered) take(shown[active], event.shiftKey);
    else if (key === 'Enter' && wanted !== '' && !isAnswered) {
      entered.current = event.shiftKey;
      event.preventDefault();
      return;
    } else if (key === 'Escape') {
      if (text === '') field?.blur();
      setText('');
      setOpen(false);
      event.stopPropagation();
      event.preventDefault();
      return;
    } else return;
    setOpen(true);
    event.preventDefault();
    if (key === 'Enter') setOpen(false);
  };
  const isListOpen = isOpen && (shown.length > 0 || wanted !== '');
  return (
    <div
      class="find"
      role="search"
      ref={place}
      onFocusOut={(event) => {
        if (!place.current?.contains(event.relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <Icon name="search" />
      <input
        ref={(input) => {
          field = input;
        }}
        type="text"
        role="combobox"
        aria-label={say('find')}
        aria-expanded={isListOpen}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant={isListOpen && shown.length > 0 ? `found-${active}` : undefined}
        placeholder={say(isNarrow.value ? 'findShort' : 'find')}
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => {
          entered.current = null;
          setText(event.currentTarget.value);
          setOpen(true);
        }}
        onFocus={() => {
          setActive(0);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
      />
      <kbd aria-hidden="true">/</kbd>
      <div class="found" hidden={!isListOpen}>
        {wanted === '' && <p class="found-title">{say('recent')}</p>}
        <ul id="found" role="listbox" aria-label={say('findShort')}>
          {shown.map((hit, n) => (
            <li
              key={keyOf(hit)}
              id={`found-${n}`}
              role="option"
              aria-selected={n === active}
              onMouseMove={() => setActive(n)}
              onMouseDown={(event) => event.preventDefault()}
              onClick={(event) => take(hit, event.shiftKey)}
            >
              <Icon name={hit.kind} />
              <span class="found-name" dir="auto">
                {hit.kind === 'me' ? say('myTimetable') : hit.name}
              </span>
              <span class="found-kind">{kindWord(hit.kind)}</span>
              {hit.events !== null && (
                <span class="found-count">{say('lessonCount', { n: hit.events })}</span>
              )}
            </li>
          ))}
        </ul>
        {wanted !== '' && isAnswered && shown.length === 0 && (
          <p class="found-none">{say('findNothing', { text: wanted })}</p>
        )}
        {shown.length > 0 && <p class="found-hint">{say('besideHint')}</p>}
      </div>
      <div class="hidden" role="status">
        {wanted !== '' && isAnswered && isOpen ? say('found', { n: shown.length }) : ''}
      </div>
    </div>
  );
}

export function kindWord(kind: TargetKind): string {
  return say(kind === 'me' ? 'myTimetable' : kind);
}
