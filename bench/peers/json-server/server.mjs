/**
 * json-server as a module, with only the necessary middleware: no static files, log or compression. Arguments: source
 * file, secret.
 */
import { createServer } from 'node:http';
import jsonServer from 'json-server';
import { underMeasurement } from '../../servers/measured.mjs';
import { eventsOf, FILTERS, filterValue, inOrder, OUTPUT, PATH } from '../schedule.mjs';
import { verifierOf } from '../tokens.mjs';

const [source, secret] = process.argv.slice(2);
const verify = verifierOf(secret);

function requireToken(req, res, next) {
  const isGood = verify(req.headers.authorization);
  if (isGood === true) {
    next();
    return;
  }
  isGood.then((isGoodNow) => {
    if (isGoodNow) next();
    else res.status(401).set('WWW-Authenticate', 'Bearer').end();
  });
}

/**
 * A window in json-server's own operators, which include both ends. The filter on a field comes first,
 * because it leaves fewer events.
 */
function expressWindow(req, _res, next) {
  const { startTime, endTime } = req.query;
  const query = {};
  for (const name of FILTERS) {
    if (req.query[name] !== undefined) query[name] = filterValue(name, req.query[name]);
  }
  if (startTime !== undefined) query.lastTime_gte = new Date(startTime).toISOString();
  if (endTime !== undefined) query.time_lte = new Date(Date.parse(endTime) - 1).toISOString();
  req.query = query;
  next();
}

// The events are stored in the order of the answer, which filters keep.
const events = [...eventsOf(source)].sort(inOrder).map((event) => ({
  ...Object.fromEntries(OUTPUT.map((name) => [name, event[name]])),
  lecturerId: event.lecturerId,
  lastTime: new Date(event.lastMs).toISOString(),
}));
const router = jsonServer.router({ schedule: events });
router.render = (_req, res) => {
  for (const event of res.locals.data) {
    delete event.lecturerId;
    delete event.lastTime;
  }
  res.json(res.locals.data);
};

const app = jsonServer.create();
app.set('json spaces', 0);
app.set('etag', false);
app.use(requireToken);
app.get(PATH, expressWindow);
app.use(PATH.slice(0, PATH.lastIndexOf('/')), router);
underMeasurement(createServer(app));
