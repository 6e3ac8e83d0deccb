/** All names are in NFC, so that answers show them unchanged. */

/** Course titles in scripts that occur at European universities, and one character outside the BMP. */
export const SUBJECTS: readonly string[] = `
  Algorithms and Data Structures; Lineární algebra; Mécanique des fluides; Operating Systems;
  Αρχαία Ελληνικά; Matematická analýza; 高等数学; Databases; Économie générale; Computer Networks;
  Úvod do programování; Organic Chemistry; Thermodynamik und Strömungslehre; Robotics Workshop 🤖;
  Dějiny umění; Génie logiciel; Microeconomics; Διαφορικές εξισώσεις; Teorie pravděpodobnosti; 数据结构;
  Statistics; Résistance des matériaux; Cell Biology; Řízení projektů; Introduction to Law;
  Größen, Maße und Messgeräte; Philosophy of Science; Φιλοσοφία της επιστήμης; Traitement du signal;
  Základy účetnictví; 汉语入门; Machine Learning; Histoire de l'Europe; Životní prostředí a společnost;
  Compilers: "Theory" & Practice; مقدمة في القانون; Geometria różniczkowa; 線形代数; Digital Electronics;
  Human Anatomy; Literatura española del siglo XX; Urban Planning; Ηλεκτρομαγνητισμός;
  Fyzika pevných látek; Музыкальная акустика; Control Engineering; Marketing; Poétique et théâtre
`
  .trim()
  .split(/;\s+/);

export const COURSE_LEVELS: readonly string[] = ['I', 'II', 'III', 'IV'];

interface People {
  readonly given: readonly string[];
  readonly family: readonly string[];
  readonly familyFirst: boolean;
}

function people(given: string, family: string, familyFirst = false): People {
  return { given: given.split(' '), family: family.split(' '), familyFirst };
}

export const PEOPLE: readonly People[] = [
  people('Jana Eliška Kateřina Zdeňka Lucie', 'Nováková Dvořáková Černá Říhová Šťastná Kučerová'),
  people('Jiří Ondřej Tomáš Luděk Václav', 'Svoboda Procházka Němec Žák Růžička Hájek'),
  people('Élodie François Hélène Gaël Zoé', "Lefèvre Garçon d'Aubigné Besançon Müller Noël"),
  people('Ελένη Γιώργος Νίκος Αθηνά', 'Παπαδοπούλου Οικονόμου Αγγελής Καζαντζάκης'),
  people('伟 芳 秀英 明', '王 李 张 陈 欧阳', true),
  people('Alice John Priya Samuel Grace Ahmed', "O'Connor Smith Ramanujan Okafor Hopper Clarke"),
  people('Łukasz Agnieszka Jürgen Åsa Íñigo', 'Wójcik Kowalska Größ Ångström Núñez Bjørnsen'),
];

/** The first part of study group codes. */
export const PROGRAMMES: readonly string[] =
  'INF BIO ÉCO MAT PHY CHE LAW MED ARC ČES HIS ΦΙΛ ELE MEC GEO MUS ART PSY'.split(' ');
