// Marks of predicates: a colour, a letter and a hatching for each, so that no reader depends on colour alone. Start at `assign`.
//
// Colours are those of Okabe and Ito, which people with any colour vision tell apart. Bluish green is for nodes that fit. Where more
// predicates reject nodes than there are colours, they come again as shades.

/** The look of the cells of one predicate. Its colours belong to no other mark of the first 24. */
export interface Mark {
  /** Character in cells, in the funnel and in the legend. Empty for nodes that fit. */
  letter: string;
  /** Colour of the cell, as 0xRRGGBB. */
  colour: number;
  /** Colour of the letter in it. */
  ink: number;
  /** Colour of the hatching, which leaves the cell its hue. */
  shade: number;
  /** Number of the pattern in cells that are too small for a letter, from 0 to 5. */
  hatch: number;
}

const COLOURS = [0xd55e00, 0x0072b2, 0xe69f00, 0xcc79a7, 0x56b4e9, 0xf0e442];
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const BLACK = 0x000000;
const WHITE = 0xffffff;

/** The part of black or white in the second, third and fourth shade of a colour. */
const SHADES = [{ of: BLACK, part: 0 }, { of: WHITE, part: 0.4 }, { of: BLACK, part: 0.4 }, { of: WHITE, part: 0.65 }];

export const FITTING: Mark = mark("", 0x009e73, 0);
export const UNEVALUATED: Mark = mark("-", 0x9a9a9a, 0);

/** Gives each predicate that rejects some node first a mark. A predicate that had one keeps it, so that colours stay while one looks. */
export function assign(
  known: ReadonlyMap<string, Mark>,
  funnel: readonly { predicate: string; rejected: number }[],
): Map<string, Mark> {
  const marks = new Map(known);
  for (const { predicate, rejected } of funnel) {
    if (rejected > 0 && !marks.has(predicate)) marks.set(predicate, numbered(marks.size));
  }
  return marks;
}

/** A colour as CSS writes it. */
export function css(colour: number): string {
  return `#${colour.toString(16).padStart(6, "0")}`;
}

function numbered(number: number): Mark {
  const shade = SHADES[Math.floor(number / COLOURS.length) % SHADES.length]!;
  const colour = mix(COLOURS[number % COLOURS.length]!, shade.of, shade.part);
  return mark(LETTERS[number % LETTERS.length]!, colour, number % COLOURS.length);
}

function mark(letter: string, colour: number, hatch: number): Mark {
  // Mixed, not pure, so that each mark has an ink of its own.
  const contrast = luminance(colour) > 0.18 ? BLACK : WHITE;
  return { letter, colour, ink: mix(colour, contrast, 0.82), shade: mix(colour, contrast, 0.37), hatch };
}

function mix(colour: number, other: number, part: number): number {
  const channel = (shift: number): number =>
    Math.round(((colour >> shift) & 255) * (1 - part) + ((other >> shift) & 255) * part) << shift;
  return channel(16) | channel(8) | channel(0);
}

/** The relative luminance of WCAG: black and white have the same contrast to a colour with 0.18. */
function luminance(colour: number): number {
  const linear = (shift: number): number => {
    const part = ((colour >> shift) & 255) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(16) + 0.7152 * linear(8) + 0.0722 * linear(0);
}
