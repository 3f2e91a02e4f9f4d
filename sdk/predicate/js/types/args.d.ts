/** Checkers of arguments. An argument without a default is required; null stands for the default. */

/** A checker of one argument. */
export interface Checker<T> {
  (value: unknown, path: string): T;
  readonly default?: T;
}

/** Checkers by the name of the argument. */
export type Fields = { readonly [name: string]: Checker<any> };

/** The arguments that these fields make. */
export type Arguments<F extends Fields> = { readonly [K in keyof F]: F[K] extends Checker<infer T> ? T : never };

interface Default<T> {
  default?: T;
}

interface Range {
  min?: number;
  max?: number;
}

export declare function string(options?: Default<string> & { notEmpty?: boolean }): Checker<string>;
export declare function integer(options?: Default<number> & Range): Checker<number>;
export declare function number(options?: Default<number> & Range): Checker<number>;
export declare function boolean(options?: Default<boolean>): Checker<boolean>;
/** One of these values. */
export declare function oneOf<const T extends string | number>(values: readonly T[], options?: Default<T>): Checker<T>;
/** A list of what `of` checks. */
export declare function list<T>(of: Checker<T>, options?: Default<readonly T[]>): Checker<readonly T[]>;
/** An object of any keys, with values that `of` checks. */
export declare function map<T>(of: Checker<T>, options?: Default<Readonly<Record<string, T>>>): Checker<Readonly<Record<string, T>>>;
/** An object with these fields and no others. */
export declare function object<F extends Fields>(fields: F, options?: Default<Arguments<F>>): Checker<Arguments<F>>;

/** An argument that is refused: the text begins with its path. */
export declare class ArgumentError extends Error {
  constructor(path: string, reason: string);
}
