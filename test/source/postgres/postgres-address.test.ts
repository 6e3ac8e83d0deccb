import { test } from 'tap';
import { passwordIn } from '../../../src/source/postgres/database.js';
import { hidePassword, parsePostgresAddress } from '../../../src/source/postgres/postgres-address.js';

const parse = (text: string, environment: Record<string, string> = {}) =>
  parsePostgresAddress(text, environment);

test('an address may have every part', (t) => {
  const found = parse(
    'postgresql://us%40er:p%3Ass@db.example.org:6432/school?sslmode=verify-ca&sslrootcert=/ca.pem&connect_timeout=3&application_name=a%20b',
  );
  t.match(found, {
    hosts: [{ host: 'db.example.org', port: 6432 }],
    user: 'us@er',
    password: 'p:ss',
    database: 'school',
    sslmode: 'verify-ca',
    sslrootcert: '/ca.pem',
    connectMsMax: 3000,
    applicationName: 'a b',
    shown: 'postgres://us@er@db.example.org:6432/school',
  });
  t.notMatch(found.shown, 'p:ss');
  t.end();
});

test('missing parts of the address come from the environment', (t) => {
  const environment = {
    PGHOST: '/var/run/postgresql',
    PGPORT: '5433',
    PGUSER: 'reader',
    PGPASSWORD: 'secret',
    PGDATABASE: 'school',
    PGSSLMODE: 'disable',
    PGPASSFILE: '/pgpass',
  };
  t.match(parse('postgres://', environment), {
    hosts: [{ host: '/var/run/postgresql', port: 5433 }],
    user: 'reader',
    password: 'secret',
    database: 'school',
    sslmode: 'disable',
    passfile: '/pgpass',
  });
  t.match(parse('postgres://anna:hers@db/other', environment), {
    user: 'anna',
    password: 'hers',
    database: 'other',
  });
  t.match(parse('postgres://db'), { hosts: [{ host: 'db', port: 5432 }], sslmode: 'prefer', password: null });
  t.equal(parse('postgres://u@db').database, 'u', 'the database of the name of the user, as with libpq');
  t.end();
});

test('several hosts, IPv6 and sockets are accepted', (t) => {
  t.match(parse('postgres://a,b:5433/x?target_session_attrs=read-write'), {
    hosts: [
      { host: 'a', port: 5432 },
      { host: 'b', port: 5433 },
    ],
    sessions: 'read-write',
  });
  t.match(parse('postgres://[::1]:5433/x').hosts, [{ host: '::1', port: 5433 }]);
  t.match(parse('postgres:///x?host=/run/pg&port=1').hosts, [{ host: '/run/pg', port: 1 }]);
  t.match(parse('postgres://%2Frun%2Fpg/x').hosts, [{ host: '/run/pg', port: 5432 }]);
  t.match(parse('postgres://a,b/x?port=7').hosts, [
    { host: 'a', port: 7 },
    { host: 'b', port: 7 },
  ]);
  t.end();
});

test('parameters that hosting providers add are honoured or refused with advice', (t) => {
  t.match(parse('postgres://u@db/x?sslmode=require&channel_binding=require'), {
    sslmode: 'require',
    bindsChannel: true,
  });
  for (const binding of ['disable', 'prefer'])
    t.equal(parse(`postgres://u@db/x?channel_binding=${binding}`).bindsChannel, false, binding);
  t.match(
    parse(
      'postgres://u@db/x?sslmode=verify-full&sslnegotiation=direct&ssl_min_protocol_version=TLSv1.2&ssl_max_protocol_version=TLSv1.3&sslcrl=/crl&sslpassword=word',
    ),
    { sslnegotiation: 'direct', tlsMin: 'TLSv1.2', tlsMax: 'TLSv1.3', sslcrl: '/crl', sslpassword: 'word' },
  );
  t.match(parse('postgres://u@db/x', { PGCHANNELBINDING: 'require', PGSSLMINPROTOCOLVERSION: 'TLSv1.3' }), {
    bindsChannel: true,
    tlsMin: 'TLSv1.3',
  });
  for (const part of ['gssencmode=disable', 'gssencmode=prefer', 'sslsni=1', 'client_encoding=utf8'])
    t.equal(parse(`postgres://u@db/x?${part}`).shown, 'postgres://u@db:5432/x', part);
  for (const [part, advice] of [
    ['gssencmode=require', /gssencmode cannot be used: GSSAPI is not supported; remove it and encrypt with/],
    ['sslsni=0', /sslsni cannot be used: remove it/],
    ['sslcrldir=/x', /give one file as sslcrl/],
    ['service=mine', /write its parameters into the address/],
    ['channel_binding=maybe', /expected one of disable, prefer, require/],
    ['channel_binding=require&sslmode=disable', /channel_binding=require needs TLS, and sslmode is disable/],
    ['sslnegotiation=direct', /needs sslmode=require or stricter, and sslmode is prefer/],
    ['ssl_min_protocol_version=SSLv3', /expected one of TLSv1, TLSv1\.1/],
  ] as const)
    t.throws(() => parse(`postgres://u@db/x?${part}`), { code: 'option-invalid', message: advice }, part);
  t.end();
});

test('the root certificates of the system are for sslmode=verify-full only', (t) => {
  t.equal(parse('postgres://u@db/x?sslrootcert=system').sslmode, 'verify-full');
  t.equal(parse('postgres://u@db/x', { PGSSLROOTCERT: 'system' }).sslmode, 'verify-full');
  t.equal(parse('postgres://u@db/x?sslrootcert=/ca.pem').sslmode, 'prefer');
  for (const mode of ['disable', 'allow', 'prefer', 'require', 'verify-ca']) {
    const message = `sslrootcert=system needs sslmode=verify-full, and sslmode is ${mode}`;
    t.throws(() => parse(`postgres://u@db/x?sslrootcert=system&sslmode=${mode}`), {
      message: new RegExp(message),
    });
    t.throws(() => parse('postgres://u@db/x?sslrootcert=system', { PGSSLMODE: mode }), {
      message: new RegExp(message),
    });
  }
  t.end();
});

test('errors explain the fault without the password', (t) => {
  for (const [text, problem] of [
    ['postgres://u:top/secret@db/x', 'cannot be parsed'],
    ['postgres://u:top@secret@db/x', 'cannot be parsed'],
    ['postgres://u:topsecret@db:99999/x', 'its port must be'],
    ['postgres://u:topsecret@db/x?sslmod=require', 'did you mean sslmode?'],
    ['postgres://u:topsecret@db/x?topsecret', 'one of its parameters is not known'],
    ['postgres://u:topsecret@db/x?sslmode=maybe', 'expected one of disable, allow'],
    ['postgres://u:topsecret%@db/x', 'percent-encoding'],
    ['postgres://u:topsecret@a,b/x?port=1,2,3', '2 hosts and 3 ports'],
    ['postgres://u:topsecret@db/x?connect_timeout=soon', 'a whole number of seconds'],
  ] as const) {
    try {
      parse(text);
      t.fail(text);
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      t.equal(code, 'option-invalid');
      t.ok(message.includes(problem), message);
      t.notMatch(message, /top|secret/);
    }
  }
  t.end();
});

test('passwords are removed from texts', (t) => {
  t.equal(hidePassword('postgres://u:secret@db/x?sslmode=require'), 'postgres://u@db/x?sslmode=require');
  t.equal(hidePassword('postgres://u@db/x?password=secret'), 'postgres://u@db/x');
  t.equal(hidePassword('postgres://db/x?password=secret&user=u'), 'postgres://db/x?user=u');
  t.equal(hidePassword('postgres://u@db/x?sslpassword=secret&password=secret&a=1'), 'postgres://u@db/x?a=1');
  t.equal(
    hidePassword('postgres://u@db/x?password=s&sslmode=require&sslpassword=s'),
    'postgres://u@db/x?sslmode=require',
  );
  t.equal(hidePassword('events.csv'), 'events.csv');
  t.end();
});

test('lines of a password file are read', (t) => {
  const lines = ['# comment', 'other:5432:*:u:no', 'db:*:school:u:a\\:b\\\\c', '*:*:*:*:last'].join('\n');
  const ask = (host: string, database: string, user: string, port = 5432) =>
    passwordIn(lines, { database, user }, { host, port });
  t.equal(ask('db', 'school', 'u'), 'a:b\\c');
  t.equal(ask('db', 'other', 'u'), 'last');
  t.equal(ask('other', 'x', 'u', 5433), 'last');
  t.equal(
    passwordIn('localhost:5432:x:u:socket', { database: 'x', user: 'u' }, { host: '/run', port: 5432 }),
    'socket',
  );
  t.equal(passwordIn('db:5432:x:u:p', { database: 'x', user: 'v' }, { host: 'db', port: 5432 }), undefined);
  t.end();
});
