/** Asks for a token, where the service gives none itself. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { giveToken } from '../data.js';
import { say } from '../speak.js';
import { tokenWanted } from '../store.js';

export function TokenForm(): JSX.Element {
  const [text, setText] = useState('');
  return (
    <form
      class="card token-form"
      data-again={tokenWanted.value === 'refused' || undefined}
      onSubmit={(event) => {
        event.preventDefault();
        const given = text.trim().replace(/^Bearer\s+/i, '');
        if (given !== '') giveToken(given);
      }}
    >
      <h1>{say('tokenTitle')}</h1>
      {tokenWanted.value === 'refused' && (
        <p class="problem" role="alert">
          {say('tokenRefused')}
        </p>
      )}
      <p>{say('tokenHelp')}</p>
      <label>
        {say('tokenLabel')}
        <textarea
          rows={4}
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="button primary">
        {say('tokenUse')}
      </button>
    </form>
  );
}
