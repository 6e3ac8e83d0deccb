/** The rooms of a building, and the field that chooses one. */
import type { JSX } from 'preact';
import { client, readNames, shortId } from '../data.js';
import { say } from '../speak.js';
import { address, go, keep, readKept } from '../store.js';

export interface NamedRoom {
  readonly id: string;
  readonly name: string;
}

/** Before all lessons every room has nothing scheduled, so this lists all of them, with those of the rooms file. */
const BEFORE_ALL = { startTime: '1900-01-01T00:00:00Z', endTime: '1900-01-01T01:00:00Z' };

export async function readAllRooms(
  building: string | undefined,
  seats: string | undefined,
  signal: AbortSignal,
): Promise<readonly NamedRoom[]> {
  const filters = {
    ...(building ? { building: [building] } : {}),
    ...(seats ? { capacityMin: Number(seats) } : {}),
  };
  const [{ data }, names] = await Promise.all([
    client.get('/schedule/free', { by: 'room', ...BEFORE_ALL, ...filters } as never, { signal }),
    readNames(),
  ]);
  return data.flatMap(({ id, name }) =>
    id === null ? [] : [{ id, name: name ?? names.rooms.get(id) ?? shortId(id) }],
  );
}

const BUILDINGS_KEPT = 20;

/** The service does not list its buildings, so the field offers those that were used before. */
export function BuildingField(): JSX.Element {
  const { more } = address.value;
  const known = readKept<readonly string[]>('buildings', []);
  return (
    <label>
      {say('building')}
      <input
        type="text"
        list="buildings"
        placeholder={say('allBuildings')}
        value={more.building ?? ''}
        onChange={(event) => {
          const building = event.currentTarget.value.trim();
          if (building !== '')
            keep(
              'buildings',
              [building, ...known.filter((each) => each !== building)].slice(0, BUILDINGS_KEPT),
            );
          go({ more: { ...more, building } }, { replace: true });
        }}
      />
      <datalist id="buildings">
        {known.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </label>
  );
}
