/* Shows the table of events as weeks, in the time zone of this device. Makes no request and stores nothing. */
{
  const DAY_COUNT = 7;
  const SATURDAY_PLACE = 5;
  // The page is in English: other languages get English dates with hours from 0 to 24.
  const locale = /^en\b/i.test(navigator.language) ? navigator.language : 'en-GB';
  const format = (options) => new Intl.DateTimeFormat(locale, options);
  const clockTime = format({ hour: '2-digit', minute: '2-digit' });
  const otherDayTime = format({ weekday: 'short', hour: '2-digit', minute: '2-digit' });
  const dayName = format({ weekday: 'long', day: 'numeric', month: 'short' });
  const weekName = format({ day: 'numeric', month: 'long', year: 'numeric' });
  const byId = (id) => document.getElementById(id);

  /** Lessons in order of their start. Rows that differ only in lecturer or group are one lesson. */
  function readLessons() {
    const lessons = new Map();
    for (const [n, row] of [...document.querySelectorAll('tbody tr')].entries()) {
      const [start, end] = [...row.querySelectorAll('time')].map((time) => new Date(time.dateTime));
      const [title, room, lecturer, group, type] = [...row.cells]
        .slice(2)
        .map((cell) => cell.textContent.trim());
      const key = title === '' ? n : [+start, +end, title, room, type].join('\n');
      const lesson = lessons.get(key) ?? {
        start,
        end,
        title,
        room,
        type,
        lecturers: new Set(),
        groups: new Set(),
        isOverlapping: false,
      };
      lesson.lecturers.add(lecturer);
      lesson.groups.add(group);
      lessons.set(key, lesson);
    }
    return [...lessons.values()];
  }

  /** Marks lessons that overlap. Lessons that touch do not overlap, and lessons without length never do. */
  function markOverlaps(lessons) {
    let last = null;
    for (const lesson of lessons.filter(({ start, end }) => start < end)) {
      if (last !== null && lesson.start < last.end) {
        last.isOverlapping = true;
        lesson.isOverlapping = true;
      }
      if (last === null || lesson.end > last.end) last = lesson;
    }
  }

  function dayAfter(date, days) {
    return new Date(date.getFullYear(), date.getMonth(), date.getDate() + days);
  }

  /** The start of Monday. */
  function weekOf(date) {
    return dayAfter(date, -((date.getDay() + 6) % DAY_COUNT));
  }

  function isWithin({ start, end }, from, to) {
    return start < to && (end > from || start >= from);
  }

  function element(name, className, ...children) {
    const made = document.createElement(name);
    if (className !== '') made.className = className;
    made.append(...children);
    return made;
  }

  /** Text of the timetable. Its direction does not affect other texts. */
  function textElement(name, className, text) {
    return element(name, className, element('bdi', '', text));
  }

  function timeElement(date, day) {
    const isOfDay = date >= day && date <= dayAfter(day, 1);
    const made = element('time', '', (isOfDay ? clockTime : otherDayTime).format(date));
    made.dateTime = date.toISOString();
    return made;
  }

  function lessonElement(lesson, day) {
    const { start, end, title, room, type, lecturers, groups } = lesson;
    const times = element('p', 'times', timeElement(start, day));
    if (end > start) times.append(element('span', 'to', ' to '), timeElement(end, day));
    const about = element('div', 'about', textElement('p', 'title', title || type || 'Event'));
    for (const texts of [[room], lecturers, groups]) {
      const known = [...texts].filter((text) => text !== '').join(', ');
      if (known !== '') about.append(textElement('p', '', known));
    }
    const labels = element('p', 'labels');
    if (type !== '' && title !== '') labels.append(textElement('span', 'type', type), ' ');
    if (lesson.isOverlapping) labels.append(element('span', 'overlap', 'Overlaps'));
    if (labels.hasChildNodes()) about.append(labels);
    return element('li', lesson.isOverlapping ? 'lesson overlapping' : 'lesson', times, about);
  }

  function dayElement(day, lessons, isToday) {
    const heading = element('h3', '', dayName.format(day));
    heading.id = `day-${day.getDay()}`;
    if (isToday) heading.append(' ', element('span', 'now', 'Today'));
    const list = element('ul', '', ...lessons.map((lesson) => lessonElement(lesson, day)));
    const content = lessons.length === 0 ? element('p', 'free', 'No events') : list;
    const made = element('section', isToday ? 'day today' : 'day', heading, content);
    made.setAttribute('aria-labelledby', heading.id);
    return made;
  }

  const lessons = readLessons();
  markOverlaps(lessons);
  let week = weekOf(new Date());
  let nearest = null;

  /** A week with events: the given week, or else the next such week, or else the last such week before. */
  function weekWithEvents(from) {
    const to = dayAfter(from, DAY_COUNT);
    if (lessons.some((lesson) => isWithin(lesson, from, to))) return from;
    const next = lessons.find(({ start }) => start >= to);
    return weekOf((next ?? lessons[lessons.length - 1]).start);
  }

  function show(chosen) {
    week = chosen;
    const end = dayAfter(week, DAY_COUNT);
    const inWeek = lessons.filter((lesson) => isWithin(lesson, week, end));
    const today = dayAfter(new Date(), 0).getTime();
    const days = [];
    for (let n = 0; n < DAY_COUNT; n++) {
      const [day, next] = [dayAfter(week, n), dayAfter(week, n + 1)];
      const ofDay = inWeek.filter((lesson) => isWithin(lesson, day, next));
      const isToday = day.getTime() === today;
      if (n < SATURDAY_PLACE || ofDay.length > 0 || isToday) days.push(dayElement(day, ofDay, isToday));
    }
    byId('week').textContent = weekName.formatRange(week, dayAfter(week, DAY_COUNT - 1));
    byId('days').replaceChildren(...(inWeek.length > 0 ? days : []));
    byId('none').hidden = inWeek.length > 0;
    nearest = weekWithEvents(week);
    byId('nearest').textContent = nearest < week ? 'Go to the last events' : 'Go to the next events';
  }

  if (lessons.length > 0) {
    byId('previous').addEventListener('click', () => show(dayAfter(week, -DAY_COUNT)));
    byId('next').addEventListener('click', () => show(dayAfter(week, DAY_COUNT)));
    byId('today').addEventListener('click', () => show(weekOf(new Date())));
    byId('nearest').addEventListener('click', () => {
      show(nearest);
      // The pressed button is hidden now.
      byId('today').focus();
    });
    byId('zone').textContent = `Times are in your time zone, ${clockTime.resolvedOptions().timeZone}.`;
    show(weekWithEvents(week));
    byId('weeks').hidden = false;
    byId('all').open = false;
  }
  if (/^https?:$/.test(location.protocol)) {
    const subscribe = element('a', '', 'Subscribe in a calendar program');
    subscribe.href = byId('calendar').href.replace(/^https?:/, 'webcal:');
    byId('links').prepend(subscribe, ' ');
  }
}
