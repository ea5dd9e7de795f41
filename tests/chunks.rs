//! `Chunks` against `Vec`, at the sizes where a chunk ends.
#![cfg(not(target_arch = "wasm32"))]

use palimpsest_core::chunks::Chunks;

const SIZES: [usize; 12] = [0, 1, 2, 1022, 1023, 1024, 1025, 2047, 2048, 2049, 3071, 5000];

fn filled(len: usize) -> (Chunks<usize>, Vec<usize>) {
    let mut chunks = Chunks::default();
    (0..len).for_each(|i| chunks.push(i * 2));
    (chunks, (0..len).map(|i| i * 2).collect())
}

#[track_caller]
fn same(chunks: &Chunks<usize>, list: &[usize]) {
    assert_eq!((chunks.len(), chunks.is_empty(), chunks.last()), (list.len(), list.is_empty(), list.last()));
    assert!(chunks.iter().eq(list), "iter");
    for i in (0..list.len() + 2).chain([usize::MAX]) {
        assert_eq!(chunks.get(i), list.get(i), "get {i} of {}", list.len());
    }
}

#[test]
fn get_and_get_mut() {
    for len in SIZES {
        let (mut chunks, mut list) = filled(len);
        same(&chunks, &list);
        let shared = chunks.clone();
        let before = list.clone();
        for i in SIZES.into_iter().chain([usize::MAX]) {
            assert_eq!(chunks.get_mut(i).is_some(), i < len);
            if let Some(item) = chunks.get_mut(i) {
                *item += 1;
                list[i] += 1;
            }
        }
        same(&chunks, &list);
        same(&shared, &before);
    }
}

#[test]
fn partition_point() {
    for len in SIZES {
        let (chunks, list) = filled(len);
        for limit in (0..2 * len + 3).step_by(1 + len / 50).chain([usize::MAX]) {
            assert_eq!(chunks.partition_point(|&x| x < limit), list.partition_point(|&x| x < limit));
        }
    }
}

#[test]
fn truncate_then_push() {
    for len in SIZES {
        for keep in SIZES {
            let (chunks, list) = filled(len);
            let (mut cut, mut expected) = (chunks.clone(), list.clone());
            cut.truncate(keep);
            expected.truncate(keep);
            same(&cut, &expected);
            for i in 0..1100 {
                cut.push(i);
                expected.push(i);
            }
            same(&cut, &expected);
            same(&chunks, &list);
        }
    }
}

#[test]
fn clones_go_apart() {
    for len in SIZES {
        let (mut left, mut left_list) = filled(len);
        let (mut right, mut right_list) = (left.clone(), left_list.clone());
        for i in 0..1500 {
            left.push(i);
            left_list.push(i);
            right.push(i + 1);
            right_list.push(i + 1);
        }
        same(&left, &left_list);
        same(&right, &right_list);
    }
}
