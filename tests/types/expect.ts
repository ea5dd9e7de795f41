 

/** True when the two types are the same, not only assignable. */
export type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** Compiles when the type is `true`. */
export declare function expectType<T extends true>(): T;

/** `typeOf(value).is<T>()` compiles when the value's type is exactly `T`. */
export declare function typeOf<A>(value: A): { is<B>(...same: Equal<A, B> extends true ? [] : [never]): void };
