/** Taking timetables along: a calendar address with its QR code, downloads, print. */
import { TimetableProblem } from 'lectern/client';
import type { JSX } from 'preact';
import { encode } from 'uqr';
import type { Target } from '../address.js';
import { client, filtersOf, leftOutFilters, pathOf, reading, windowQuery } from '../data.js';
import { saveFile } from '../files.js';
import { Icon } from '../parts.js';
import { say } from '../speak.js';
import { address, announcement, part, rangeOf, shownDate, windowOf, zone } from '../store.js';
import { keyOf, nameOf } from '../targets.js';

interface Address {
  readonly url: string;
  readonly webcal: string;
  readonly page: string;
}

export function Take({ targets }: { readonly targets: readonly Target[] }): JSX.Element {
  return (
    <section class="take card" aria-label={say('takeTitle')}>
      {targets.map((target) => (
        <div class="take-one" key={keyOf(target)}>
          {targets.length > 1 && (
            <h3>
              <bdi>{nameOf(target)}</bdi>
            </h3>
          )}
          <Subscribe target={target} />
        </div>
      ))}
      <div>
        <h3>{say('download')}</h3>
        <div class="row">
          <button type="button" class="button" onClick={() => void downloadAll(targets, 'ics')}>
            {say('downloadIcs')}
          </button>
          <button type="button" class="button" onClick={() => void downloadAll(targets, 'csv')}>
            {say('downloadCsv')}
          </button>
        </div>
      </div>
      <PrintPart />
    </section>
  );
}

export function PrintPart(): JSX.Element {
  return (
    <div>
      <h3>{say('print')}</h3>
      <div class="row">
        <button type="button" class="button" onClick={() => window.print()}>
          <Icon name="print" /> {say('print')}
        </button>
        <span class="muted">{say('printHelp')}</span>
      </div>
    </div>
  );
}

/** What is shown, as a file. */
async function downloadAll(targets: readonly Target[], format: 'ics' | 'csv'): Promise<void> {
  const { from, days } = rangeOf(address.value.view, shownDate.value);
  const window = windowOf(from, days, zone.value);
  for (const target of targets) {
    const query = {
      ...filtersOf(target),
      ...leftOutFilters(address.value.not),
      ...windowQuery(window),
    };
    const text = await reading(() => client.text(pathOf(target), { ...query, format } as object));
    saveFile(`${nameOf(target)} ${from}.${format}`, format === 'csv' ? 'text/csv' : 'text/calendar', text);
  }
}

function Subscribe({ target }: { readonly target: Target }): JSX.Element {
  const [made, setMade] = part<Address | 'off' | null>(
    `feed ${keyOf(target)} ${JSON.stringify(address.value.not)}`,
    null,
  );
  const make = async (): Promise<void> => {
    try {
      const whose = target.kind === 'me' ? { for: 'personal' } : filtersOf(target);
      const query = { ...whose, ...leftOutFilters(address.value.not) };
      const { data } = await reading(() => client.get('/schedule/feed', query as object));
      setMade(data);
    } catch (error) {
      if (error instanceof TimetableProblem && error.status === 404) setMade('off');
      else announcement.value = say('failed', { reason: String(error) });
    }
  };
  return (
    <div>
      <h3>{say('subscribe')}</h3>
      <p class="muted">{made === 'off' ? say('subscribeOff') : say('subscribeHelp')}</p>
      {made === null && (
        <button type="button" class="button primary" onClick={() => void make()}>
          {say('makeAddress')}
        </button>
      )}
      {made !== null && made !== 'off' && <FeedAddress {...made} />}
    </div>
  );
}

export function FeedAddress({
  url,
  webcal,
  page,
}: Omit<Address, 'page'> & { readonly page?: string }): JSX.Element {
  const [isCopied, setCopied] = part(`copied ${url}`, false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(url);
    setCopied(true);
    announcement.value = say('copied');
  };
  return (
    <div class="feed-address">
      <div class="feed-ways">
        <a class="button primary" href={webcal}>
          {say('openInCalendar')}
        </a>
        <input
          type="text"
          readOnly
          value={url}
          aria-label={say('subscribe')}
          onFocus={(event) => event.currentTarget.select()}
        />
        <div class="row">
          <button type="button" class="button" onClick={() => void copy()}>
            {isCopied ? say('copied') : say('copyAddress')}
          </button>
          {page !== undefined && (
            <a class="button" href={page} target="_blank" rel="noreferrer">
              {say('feedPage')}
            </a>
          )}
        </div>
      </div>
      {/* A phone cannot scan itself: there it comes last. */}
      <figure>
        <QrCode text={webcal} />
        <figcaption>{say('scan')}</figcaption>
      </figure>
    </div>
  );
}

/** Made here: no other service learns the address. */
function QrCode({ text }: { readonly text: string }): JSX.Element {
  const { data, size } = encode(text, { ecc: 'L', border: 3 });
  let path = '';
  for (const [y, row] of data.entries()) {
    for (const [x, isDark] of row.entries()) if (isDark) path += `M${x} ${y}h1v1h-1z`;
  }
  return (
    <svg
      class="qr"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={say('qrAlt')}
      shape-rendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
